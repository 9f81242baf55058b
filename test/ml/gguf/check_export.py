"""Compares F16.gguf and Q8_0.gguf of a folder with what the gguf package makes of F32.gguf, and prints fields of it.

Usage: check_export.py FOLDER   (needs gguf and numpy)
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

FOLDER = Path(sys.argv[1])


def tensors(name: str) -> dict:
    return {t.name: t for t in gguf.GGUFReader(FOLDER / f"{name}.gguf").tensors}


exact = tensors("F32")
same, different = 0, []
for name in ("F16", "Q8_0"):
    for key, tensor in tensors(name).items():
        kind = gguf.GGMLQuantizationType["F32" if exact[key].data.ndim == 1 else name]
        expected = gguf.quants.quantize(np.asarray(exact[key].data), kind)
        equal = tensor.tensor_type == kind and np.array_equal(tensor.data, expected)
        same += equal
        if not equal:
            different.append(f"{name} {key}")

reader = gguf.GGUFReader(FOLDER / "F32.gguf")
names = ["general.architecture", "general.name", "general.file_type", "llama.block_count"]
names += ["llama.attention.head_count_kv", "llama.rope.dimension_count", "llama.rope.freq_base"]
names += ["tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"]
fields = {name: reader.fields[name].contents() for name in names}
fields["tokens"] = len(reader.fields["tokenizer.ggml.tokens"].contents())
fields["unused"] = reader.fields["tokenizer.ggml.token_type"].contents().count(5)
print(json.dumps({"fields": fields, "same": same, "different": different}))
