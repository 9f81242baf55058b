"""Records what the gguf package of llama.cpp reads from blocks of every type, and writes a small GGUF file.

pip install gguf==0.19.0 numpy, then: python record_gguf.py   (writes blocks.json and small.gguf beside this file)
"""

import base64
import json
from pathlib import Path

import gguf
import numpy as np

HERE = Path(__file__).parent
TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
HALVES = {"Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q4_1": [0, 2], "Q5_1": [0, 2]}  # where a block has f16 numbers
ROWS, COLUMNS = 2, 512


def random_blocks(kind: gguf.GGMLQuantizationType, random: np.random.Generator) -> np.ndarray:
    """Blocks of random codes and scales; their f16 numbers are finite."""
    weights, size = gguf.GGML_QUANT_SIZES[kind]
    if kind.name == "BF16":
        numbers = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
        return (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(ROWS, -1)
    if kind.name == "F16":
        return random.normal(size=(ROWS, COLUMNS)).astype(np.float16).view(np.uint8).reshape(ROWS, -1)
    blocks = random.integers(0, 256, size=(ROWS * COLUMNS // weights, size), dtype=np.uint8)
    for at in HALVES.get(kind.name, [0]):
        halves = random.normal(scale=0.1, size=len(blocks)).astype(np.float16)
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(ROWS, -1)


def record_blocks() -> None:
    random = np.random.default_rng(14)
    out = {}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        data = random_blocks(kind, random)
        values = gguf.quants.dequantize(data, kind).astype("<f4")
        out[name] = {
            "bytes": base64.b64encode(data.tobytes()).decode(),
            "values": base64.b64encode(values.tobytes()).decode(),
        }
    (HERE / "blocks.json").write_text(json.dumps(out, indent=1) + "\n")


def write_small() -> None:
    """A Llama of one layer with recognisable weights: entry (row, column) of a matrix is row + column / 100."""
    hidden, heads, kv, ffn, vocab = 32, 4, 2, 64, 262
    writer = gguf.GGUFWriter(HERE / "small.gguf", "llama")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(100000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    letters = [chr(c) for c in range(33, 127)] + [chr(c) for c in range(161, 173)] + [chr(c) for c in range(174, 256)]
    letters += [chr(256 + n) for n in range(256 - len(letters))]
    tokens = letters + ["<|im_start|>", "<|im_end|>", "he", "ll", "hell", "<think>"]
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 256 + [3, 3, 1, 1, 1, 4])
    writer.add_token_merges(["h e", "l l", "he ll"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_chat_template(
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )

    def add(name: str, *shape: int) -> None:
        grid = np.add.outer(np.arange(shape[0]), np.arange(shape[1]) / 100) if len(shape) == 2 else np.arange(shape[0])
        writer.add_tensor(name, grid.astype(np.float32))

    add("token_embd.weight", vocab, hidden)
    add("output_norm.weight", hidden)
    add("blk.0.attn_norm.weight", hidden)
    add("blk.0.ffn_norm.weight", hidden)
    add("blk.0.attn_q.weight", hidden, hidden)
    add("blk.0.attn_k.weight", hidden * kv // heads, hidden)
    add("blk.0.attn_v.weight", hidden * kv // heads, hidden)
    add("blk.0.attn_output.weight", hidden, hidden)
    add("blk.0.ffn_gate.weight", ffn, hidden)
    add("blk.0.ffn_up.weight", ffn, hidden)
    add("blk.0.ffn_down.weight", hidden, ffn)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    record_blocks()
    write_small()
