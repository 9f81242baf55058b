"""Records what transformers and peft compute on small random checkpoints of every architecture, saved by themselves, as
the truth of test/ml/architectures.test.ts: log-probs with and without an adapter, greedy tokens, rotary tables.

    python record_architectures.py OUT_FOLDER        (versions are kept in expected.json; tolerances in the test)

Files in 16 bits are read back into f32, and that is what is recorded: the rounding of the file is no difference.
"""
import json
import os
import shutil
import sys

import peft
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

OUT = sys.argv[1]
VOCAB, NEW_TOKENS, CONTEXT = 67, 40, 256
PROMPTS = [1, 2, 5, 31, 32, 33, 63, 64, 65, 90]
LONG_CONTEXT, LONG_PROMPTS = 640, [31, 257, 300, 530]  # these prompts are read in several blocks
CLEAR = 1e-3  # a greedy choice must win by so much that rounding to f32 does not change it
SIZES = {
    "vocab_size": VOCAB, "hidden_size": 48, "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": CONTEXT, "bos_token_id": None, "eos_token_id": 2, "pad_token_id": 0,
}
# the original context is short, so that all three cases of the rule have frequencies
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
PLAIN = {"rope_type": "default", "rope_theta": 1000000.0}
WHOLE = "5GB"
LONG = {"max_position_embeddings": LONG_CONTEXT}
CASES = [  # each has name, class, config, fields, dtype of the file, shard size, dtype of the adapter
    ("qwen2-tied-f32", Qwen2ForCausalLM, Qwen2Config, {"tie_word_embeddings": True, "rope_parameters": PLAIN}, "float32", WHOLE, "bfloat16"),
    ("qwen2-untied-bf16-sharded", Qwen2ForCausalLM, Qwen2Config, {"rms_norm_eps": 1e-5}, "bfloat16", "40KB", "float32"),
    ("qwen3-untied-f32-sharded", Qwen3ForCausalLM, Qwen3Config, {"head_dim": 24, "rope_parameters": PLAIN}, "float32", "90KB", "float16"),
    ("qwen3-tied-f16", Qwen3ForCausalLM, Qwen3Config, {"head_dim": 16, "tie_word_embeddings": True, "attention_bias": True}, "float16", WHOLE, "float32"),
    ("llama-untied-bf16", LlamaForCausalLM, LlamaConfig, {"head_dim": 16, "rope_parameters": LLAMA3}, "bfloat16", WHOLE, "float32"),
    ("llama-tied-f32-biases", LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True,
     "num_key_value_heads": 6, "rope_parameters": LLAMA3}, "float32", WHOLE, "float32"),
    # these have the head sizes of public models
    ("llama-head64", LlamaForCausalLM, LlamaConfig, LONG | {"hidden_size": 32, "num_attention_heads": 4,
     "head_dim": 64, "tie_word_embeddings": True}, "bfloat16", WHOLE, "float32"),
    ("qwen2-head128", Qwen2ForCausalLM, Qwen2Config, LONG | {"hidden_size": 128, "num_attention_heads": 1, "num_key_value_heads": 1,
     "rope_parameters": PLAIN}, "bfloat16", WHOLE, "float32"),
    ("qwen3-head128", Qwen3ForCausalLM, Qwen3Config, LONG | {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
     "head_dim": 128, "rope_parameters": PLAIN}, "bfloat16", WHOLE, "float32"),
]
# (head_dim, parameters) of Qwen2.5, Llama 3.1, Llama 3.2 1B, and a head that is no power of two
ROPES = [
    (128, {"rope_type": "default", "rope_theta": 1000000.0}),
    (128, LLAMA3 | {"rope_theta": 500000.0, "original_max_position_embeddings": 8192}),
    (64, LLAMA3 | {"rope_theta": 500000.0, "factor": 32.0, "original_max_position_embeddings": 8192}),
    (24, LLAMA3),
]
POSITIONS = [0, 1, 2, 63, 1023, 4095]


def logprobs(model, tokens):
    """Log-probs of each token after the first."""
    ids = torch.tensor([tokens])
    with torch.no_grad():
        lp = torch.log_softmax(model(input_ids=ids).logits[0, :-1].double(), -1)
    return [round(x, 7) for x in lp.gather(1, ids[0, 1:, None])[:, 0].tolist()]


def greedy(model, prompt):
    got = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), max_new_tokens=NEW_TOKENS, do_sample=False,
        eos_token_id=None, pad_token_id=0, return_dict_in_generate=True, output_logits=True,
    )
    margins = [(row[0].topk(2).values[0] - row[0].topk(2).values[1]).item() for row in got.logits]
    return got.sequences[0, len(prompt):].tolist(), min(margins)


def rope(head_dim, parameters):
    config = LlamaConfig(**(SIZES | {"head_dim": head_dim, "rope_parameters": dict(parameters)}))
    embedding = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
    cos, sin = embedding(torch.zeros(1), torch.tensor([POSITIONS]))
    half = head_dim // 2
    table = lambda x: [[round(v, 8) for v in row] for row in x[0, :, :half].tolist()]
    return {"headDim": head_dim, "parameters": parameters, "positions": POSITIONS, "cos": table(cos), "sin": table(sin)}


def record(index, name, model_class, config_class, fields, dtype, shard, adapter_dtype):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(100 + index)
    model = model_class(config_class(**(SIZES | fields)))
    deviation = min(0.25, 1.75 / model.config.hidden_size**0.5)  # larger weights would lose digits in f32
    with torch.no_grad():  # the values are far from the initial ones, so that no term vanishes
        for parameter_name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * deviation + (1.0 if "norm" in parameter_name else 0.0))
    model.to(getattr(torch, dtype)).save_pretrained(folder, max_shard_size=shard)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    rng = torch.Generator().manual_seed(index)
    rows = []
    for length in LONG_PROMPTS if model.config.max_position_embeddings == LONG_CONTEXT else PROMPTS:
        while True:
            prompt = torch.randint(0, VOCAB, (length,), generator=rng).tolist()
            tokens, margin = greedy(model, prompt)
            if margin > CLEAR:
                break
        rows.append({"prompt": prompt, "tokens": tokens, "logprobs": logprobs(model, prompt + tokens)})
    tuned = peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=3, lora_alpha=5, lora_dropout=0.1, task_type="CAUSAL_LM",
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        ),
    ).eval()
    with torch.no_grad():
        for parameter_name, p in tuned.named_parameters():
            if "lora_" in parameter_name:
                p.copy_((torch.randn(p.shape, generator=rng) * 0.15).to(getattr(torch, adapter_dtype)).float())
    for row in rows[::3]:
        row["tuned"] = logprobs(tuned, row["prompt"] + row["tokens"])
    for parameter_name, p in tuned.named_parameters():
        if "lora_" in parameter_name:
            p.data = p.data.to(getattr(torch, adapter_dtype))
    adapter = os.path.join(folder, "adapter")
    tuned.save_pretrained(adapter)
    os.remove(os.path.join(adapter, "README.md"))
    with open(os.path.join(adapter, "adapter_config.json"), "r+") as f:
        config = json.load(f)
        config["target_modules"].sort()  # PEFT writes a set, whose order changes from run to run
        config["base_model_name_or_path"] = name
        f.seek(0)
        f.truncate()
        json.dump(config, f, indent=1)
    with open(os.path.join(folder, "expected.json"), "w") as f:
        json.dump({"versions": {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}, "rows": rows}, f)
    print(name, "recorded")


torch.set_num_threads(1)
os.makedirs(OUT, exist_ok=True)
for index, case in enumerate(CASES):
    record(index, *case)
with open(os.path.join(OUT, "rope.json"), "w") as f:
    json.dump([rope(*case) for case in ROPES], f)
