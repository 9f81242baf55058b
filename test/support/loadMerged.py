"""Loads exported weights in transformers and prints the log-probs of rows of tokens.

Usage: loadMerged.py FOLDER_OR_GGUF ROWS   (needs torch and transformers; a GGUF file also gguf and accelerate)
"""

import json
import sys
from pathlib import Path

import torch
import transformers

path = Path(sys.argv[1])
of_file = {"gguf_file": path.name} if path.is_file() else {}
folder = path.parent if path.is_file() else path
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **of_file).eval()
found = []
for tokens in json.loads(sys.argv[2]):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        logprobs = torch.log_softmax(model(input_ids=ids).logits[0, :-1].double(), -1)
    found.append(logprobs.gather(1, ids[0, 1:, None])[:, 0].tolist())
print(json.dumps(found))
