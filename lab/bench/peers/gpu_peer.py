"""Measures sampling and the gradient of LoRA on a GPU, with transformers, peft and random weights. Reads the plan as JSON
from the first argument, and prints a line of JSON for each case as soon as it is measured."""

import json
import sys
import time


def say(**line):
    print(json.dumps(line), flush=True)


try:
    import peft
    import torch
    import transformers
except ImportError as error:
    say(skipped=f"python3 lacks torch, transformers or peft: {error}")
    sys.exit()

ROUNDS = 3
ENOUGH_SECONDS = 20
plan = json.loads(sys.argv[1])
device = plan["device"]
transformers.logging.set_verbosity_error()


def synchronize():
    if device == "cuda":
        torch.cuda.synchronize()


def timed(work):
    """The median of up to three rounds after a first one."""
    seconds = []
    for _ in range(ROUNDS + 1):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        seconds.append(time.perf_counter() - start)
        if len(seconds) > 1 and sum(seconds) > ENOUGH_SECONDS:
            break
    return {"seconds": round(sorted(seconds[1:])[(len(seconds) - 1) // 2], 4), "first": round(seconds[0], 4)}


def used():
    """The memory of the card that all programs use. torch keeps what it has allocated, so this is the peak."""
    if device != "cuda":
        return {}
    free, total = torch.cuda.mem_get_info()
    return {"usedGigabytes": round((total - free) / 1e9, 2)}


def model_of(case):
    kind = dict(case["config"])
    config = transformers.AutoConfig.for_model(kind.pop("model_type"), **kind)
    dtype = getattr(torch, case["dtype"])
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=dtype)
    finally:
        torch.set_default_dtype(torch.float32)


def generate(case):
    net = model_of(case).eval()
    ids = torch.randint(2, 390, (case["rows"], case["length"]), device=device)
    new = {"max_new_tokens": 64, "min_new_tokens": 64, "do_sample": True, "top_k": 0, "pad_token_id": 0}
    with torch.inference_mode():
        figures = timed(lambda: net.generate(ids, attention_mask=torch.ones_like(ids), **new))
    return {**figures, "tokensPerSecond": round(64 * case["rows"] / figures["seconds"])}


def gradient(case):
    names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    lora = peft.LoraConfig(r=case["rank"], lora_alpha=16, target_modules=names)
    net = peft.get_peft_model(model_of(case), lora).train()
    ids = torch.randint(2, 390, (case["rows"], case["length"]), device=device)
    every = round(1 / case["trained"])

    def work():
        """Applies the output projection only to positions that predict a trained token, as our graphs do."""
        net.zero_grad()
        causal = net.get_base_model()
        hidden = causal.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
        logits = causal.lm_head(hidden.reshape(-1, hidden.shape[-1])[::every]).float()
        targets = ids[:, 1:].reshape(-1)[::every]
        ratio = torch.exp(-torch.nn.functional.cross_entropy(logits, targets, reduction="none") + 6)
        torch.minimum(ratio, torch.clamp(ratio, 0.8, 1.2)).mean().backward()

    return {**timed(work), "tokens": case["rows"] * case["length"]}


say(versions={"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__})
for each in plan["cases"]:
    try:
        figures = {"generate": generate, "gradient": gradient}[each["kind"]](each)
        say(case=each["case"], **figures, **used())
    except torch.OutOfMemoryError as error:
        say(case=each["case"], skipped=str(error)[:200])
    except Exception as error:  # lets the other cases run
        say(case=each["case"], failed=str(error)[:400])
    if device == "cuda":
        torch.cuda.empty_cache()
