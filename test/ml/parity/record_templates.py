"""Records what transformers' apply_chat_template gives, for test/ml/hf/thinking.test.ts.

Usage: python test/ml/parity/record_templates.py   (transformers, jinja2; the version is recorded)
Writes test/ml/parity/templates/: a byte-level tokenizer, templates that think, and expected.json.
"""

import json
import os

import transformers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
THINK = ["<think>", "</think>"]  # these are ordinary added tokens, as in Qwen3

# This template is like that of Qwen3: the prompt of an answer may contain an empty block of thinking, and earlier answers lose theirs.
SWITCHED = """
{%- set ns = namespace(last=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' and '</think>' in content and loop.index0 < ns.last %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

# The prompt of an answer opens the thinking; an argument is part of the text.
OPENED = """
{%- if style %}{{ '<|im_start|>system\\n' + style + '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' %}{% set content = content.split('</think>')[-1] | trim %}{% endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}
"""

# This template keeps everything.
PLAIN = """
{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

THOUGHT = ["<think>\nadd\n them\n</think>\n\ndef f():\n  return 1", "<think>\n\n</think>\n\nno thinking", "it has none"]
CASES = {
    "switched": (SWITCHED, {}, THOUGHT),
    "switched-off": (SWITCHED, {"enable_thinking": False}, ["def f(): pass", "é 2", "three"]),
    "opened": (OPENED, {"style": "brief", "unused": 1}, ["add\n</think>\n\none", "</think>two", "x</think>\n\nthree é"]),
    "plain": (PLAIN, {"enable_thinking": False}, THOUGHT),
}


def tokenizer_json():
    alphabet = sorted(bytes_to_unicode().values())
    vocab = {t: i for i, t in enumerate(SPECIAL + THINK + alphabet + ["ĊĊ"])}
    added = [
        {"id": vocab[t], "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": t in SPECIAL}
        for t in SPECIAL + THINK
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "vocab": vocab, "merges": [["Ċ", "Ċ"]]},
    }


def main():
    os.makedirs(HERE, exist_ok=True)
    json.dump(tokenizer_json(), open(os.path.join(HERE, "tokenizer.json"), "w"), ensure_ascii=False)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "clean_up_tokenization_spaces": False}
    json.dump(config, open(os.path.join(HERE, "tokenizer_config.json"), "w"), indent=1)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(HERE)
    cases = []
    for name, (template, arguments, answers) in CASES.items():
        turns = []
        messages = []
        for i, answer in enumerate(answers):
            messages.append({"role": "user", "content": f"question {i}"})
            prompt = tokenizer.apply_chat_template(
                messages, chat_template=template, add_generation_prompt=True, return_dict=False, **arguments)
            turns.append({"question": f"question {i}", "prompt": list(prompt),
                          "answer": tokenizer(answer + "<|im_end|>", add_special_tokens=False)["input_ids"]})
            messages.append({"role": "assistant", "content": answer})
        cases.append({"name": name, "template": template, "arguments": arguments, "turns": turns})
    out = {"versions": {"transformers": transformers.__version__}, "cases": cases}
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        file.write(json.dumps(out, ensure_ascii=False) + "\n")


main()
