"""Records what transformers generates, for test/ml/session/generate.test.ts.

Usage: python test/ml/parity/record_generate.py   (torch, transformers; versions are recorded)
Writes test/ml/parity/generate/: a small random Qwen2 with a word-level tokenizer, and expected.json.
"""

import json
import os

import torch
import transformers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generate")
WORDS = ["alpha", "beta", "gamma", "delta", "return", "def", "solve", "nums", "sum", "max"]
CHARS = [" ", "\n", "(", ")", "[", "]", ":", ",", ".", "+", "-", "=", "<", ">", "a", "b", "c", "x", "y", "é"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def tokenizer_json():
    tokens = SPECIAL + ["user", "assistant", "system"] + WORDS + CHARS + [str(i) for i in range(30)]
    vocab = {t: i for i, t in enumerate(tokens)}
    added = [
        {"id": vocab[t], "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for t in SPECIAL
    ]
    split = {"type": "Split", "pattern": {"Regex": "[A-Za-z]+|[0-9]+|\\s|[^A-Za-z0-9\\s]"}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": split,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
    }


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    os.makedirs(HERE, exist_ok=True)
    tok = tokenizer_json()
    vocab = len(tok["model"]["vocab"])
    config = Qwen2Config(
        vocab_size=vocab, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=256, rms_norm_eps=1e-6, tie_word_embeddings=True,
        eos_token_id=2, pad_token_id=0, bos_token_id=None, initializer_range=0.2,
    )
    model = Qwen2ForCausalLM(config).eval().float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name or name.endswith("bias"):
                p.add_(torch.randn_like(p) * 0.1)
    model.save_pretrained(HERE, safe_serialization=True)
    json.dump(tok, open(os.path.join(HERE, "tokenizer.json"), "w"), indent=1, ensure_ascii=False)
    json.dump(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
         "unk_token": "<unk>", "clean_up_tokenization_spaces": False, "chat_template": TEMPLATE},
        open(os.path.join(HERE, "tokenizer_config.json"), "w"), indent=1,
    )
    out = {"versions": {"torch": torch.__version__, "transformers": transformers.__version__}, "generate": [], "text": []}
    rng = torch.Generator().manual_seed(3)
    for length in [1, 2, 5, 31, 32, 33, 63, 64, 65, 90]:
        prompt = torch.randint(4, vocab, (1, length), generator=rng)
        got = model.generate(prompt, max_new_tokens=40, do_sample=False, attention_mask=torch.ones_like(prompt))
        logits = model(prompt).logits[0, -1].double()
        out["generate"].append({"prompt": prompt[0].tolist(), "tokens": got[0, length:].tolist(), "logits": [round(x, 7) for x in logits.tolist()]})
    tokenizer = PreTrainedTokenizerFast.from_pretrained(HERE)
    for text in ["def solve(nums):\n return 12", "alpha  beta", "<|im_start|>user\nx é 77 zeta<|im_end|>"]:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        out["text"].append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, clean_up_tokenization_spaces=False)})
    messages = [{"role": "system", "content": "sum"}, {"role": "user", "content": "solve 3"}]
    out["opening"] = {"messages": messages, "ids": list(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))}
    longer = messages + [{"role": "assistant", "content": "max 4"}, {"role": "user", "content": "beta"}]
    out["chat"] = {"messages": longer, "ids": list(tokenizer.apply_chat_template(longer, add_generation_prompt=True, return_dict=False))}
    json.dump(out, open(os.path.join(HERE, "expected.json"), "w"))


main()
