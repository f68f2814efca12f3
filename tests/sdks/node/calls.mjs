// `node calls.mjs ADDRESS < cases.json` makes every call, as ../calls.py does, and writes the same JSON object.
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const apiKey = "sk-zebra7secret";
const address = process.argv[2];
const cases = JSON.parse(readFileSync(0, "utf8"));

function said(error) {
  const status = error.status;
  if (error instanceof OpenAI.APIError) {
    return { error: error.constructor.name, status, word: error.code, identified: Boolean(error.requestID) };
  }
  if (error instanceof Anthropic.APIError) {
    const word = error.error.error.type;
    return { error: error.constructor.name, status, word, identified: Boolean(error.requestID) };
  }
  if (error.name !== "ApiError") throw error;
  return { error: error.name, status, word: JSON.parse(error.message).error.status };
}

async function answered(call) {
  try {
    const answer = await call();
    return { tokens: answer.input_tokens ?? answer.totalTokens };
  } catch (error) {
    return said(error);
  }
}

const gpt = new OpenAI({ baseURL: `${address}/v1`, apiKey });
const claude = new Anthropic({ baseURL: address, apiKey });
const httpOptions = { baseUrl: address };
const google = {
  gemini: new GoogleGenAI({ apiKey, httpOptions }),
  vertex: new GoogleGenAI({ vertexai: true, apiKey, httpOptions }),
};

const found = {};
for (const [name, body] of Object.entries(cases.openai)) {
  found[`openai.${name}`] = await answered(() => gpt.responses.inputTokens.count(body));
}
for (const [name, body] of Object.entries(cases.anthropic)) {
  found[`anthropic.${name}`] = await answered(() => claude.messages.countTokens(body));
  found[`anthropic_beta.${name}`] = await answered(() => claude.beta.messages.countTokens(body));
}
for (const [kind, client] of Object.entries(google)) {
  for (const [name, { model, contents, systemInstruction, tools }] of Object.entries(cases[kind])) {
    const config = systemInstruction && { systemInstruction, tools };
    found[`${kind}.${name}`] = await answered(() => client.models.countTokens({ model, contents, config }));
  }
}

const versions = {};
for (const [name, folder] of [["openai", "openai"], ["anthropic", "@anthropic-ai/sdk"], ["google", "@google/genai"]]) {
  const file = new URL(`node_modules/${folder}/package.json`, import.meta.url);
  versions[name] = JSON.parse(readFileSync(file, "utf8")).version;
}
process.stdout.write(JSON.stringify({ versions, answers: { async: found } }));
