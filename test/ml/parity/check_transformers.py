"""Checks that our base model and adapter load in transformers + peft and give the engine's log-probs.

    python test/ml/parity/check_transformers.py MODEL ADAPTER [make]

Runs node dist/test/ml/parity/engineLogprobs.js for the engine's side. Exits 1 where a log-prob differs by 1e-4 or more.
"""
import json
import subprocess
import sys

import peft
import torch
import transformers

TOLERANCE = 1e-4
out = subprocess.run(["node", "dist/test/ml/parity/engineLogprobs.js", *sys.argv[1:]], capture_output=True, check=True, text=True)
ours = json.loads(out.stdout)


def worst(model, expected):
    gap = 0.0
    for tokens, row in zip(ours["rows"], expected):
        ids = torch.tensor([tokens])
        with torch.no_grad():
            lp = torch.log_softmax(model(input_ids=ids).logits[0, :-1].double(), -1)
        theirs = lp.gather(1, ids[0, 1:, None])[:, 0]
        gap = max(gap, (theirs - torch.tensor(row[1:], dtype=torch.float64)).abs().max().item())
    return gap


base = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
gaps = {"base": worst(base, ours["base"])}
tuned = peft.PeftModel.from_pretrained(base, sys.argv[2]).eval()
gaps["adapter"] = worst(tuned, ours["tuned"])
moved = max(abs(a - b) for x, y in zip(ours["base"], ours["tuned"]) for a, b in zip(x, y))
print(json.dumps({
    "largest difference of a log-prob": gaps, "tokens": sum(map(len, ours["rows"])), "moved by the adapter": moved,
    "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__},
}))
sys.exit(0 if max(gaps.values()) < TOLERANCE and moved > TOLERANCE else 1)
