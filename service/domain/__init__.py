"""What a weighing is: pure rules on the standard library and the tokenizer port."""
