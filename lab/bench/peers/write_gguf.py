"""Converts a Qwen2 model folder to an f32 GGUF file: write_gguf.py FOLDER OUT. The texts of the tokens are invented."""

import json
import os
import sys

import gguf
import numpy as np
from safetensors import safe_open

folder, out = sys.argv[1:]
with open(os.path.join(folder, "config.json")) as file:
    config = json.load(file)
layers, vocab = config["num_hidden_layers"], config["vocab_size"]
part = f"{out}.part"
writer = gguf.GGUFWriter(part, "qwen2")
writer.add_block_count(layers)
writer.add_context_length(config["max_position_embeddings"])
writer.add_embedding_length(config["hidden_size"])
writer.add_feed_forward_length(config["intermediate_size"])
writer.add_head_count(config["num_attention_heads"])
writer.add_head_count_kv(config["num_key_value_heads"])
writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
writer.add_rope_freq_base(config["rope_theta"])
writer.add_file_type(gguf.LlamaFileType.ALL_F32)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([f"t{i}" for i in range(vocab)])
writer.add_token_types([gguf.TokenType.NORMAL] * vocab)
writer.add_token_merges(["t 0"])
names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, layers)
with safe_open(os.path.join(folder, "model.safetensors"), "np") as weights:
    for key in weights.keys():
        writer.add_tensor(names.get_name(key, (".weight", ".bias")), weights.get_tensor(key).astype(np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
os.replace(part, out)
