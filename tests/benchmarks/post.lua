-- wrk: POST the lines of a file in turn. Arguments: the file, then headers as NAME=VALUE.
local requests, sent = {}, 0

function init(arguments)
  for i = 2, #arguments do
    local name, value = arguments[i]:match("^([^=]+)=(.*)$")
    wrk.headers[name] = value
  end
  for body in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("POST", wrk.path, wrk.headers, body)
  end
end

function request()
  sent = sent % #requests + 1
  return requests[sent]
end
