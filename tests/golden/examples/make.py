#!/usr/bin/env python3
"""Makes the small models of examples/models, and their goldens. Ran with torch 2.15.0, transformers 5.24.0, tokenizers 0.23.3.

    tests/golden/examples/make.py [NAME ...]

Each folder is named as its example and holds a small random model in bf16 with a tokenizer and a chat template in the manner of the
published model. expected.safetensors has the example's results for its own texts, computed in f32 by transformers: for each
conversation or text tokens.I, the prompt's tokens and the 8 likeliest after them, and logits, [sequences, vocab_size], of the first
of these 8; of an example that embeds, embeddings [texts, hidden_size], or of ColPali the vectors query [tokens, embedding_dim] and page,
and scores [1]. The seed of a model is the first one whose likeliest tokens
stand out so far that rounding to bf16 does not change them.
"""
import importlib.util
import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers
from PIL import Image
from tokenizers import AddedToken, pre_tokenizers, processors

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 8
MARGIN = 0.02  # of the largest logit, between the likeliest token and the next


def module(path):
    """Another script of this folder; those that make models make none for a name that they do not know."""
    arguments, sys.argv[1:] = sys.argv[1:], ["none"]
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    sys.argv[1:] = arguments
    return loaded


tokenizers = module(HERE.parent / "tokenizers" / "make.py")
decoders = module(HERE.parent / "decoders" / "make.py")
based = module(HERE.parent / "based" / "make.py")

# ---- the texts of the examples

QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: how long does bread bake"
PAGES_QUERY = "which page has a table of prices?"
TEXTS = ["A loaf of one pound bakes for 30 minutes at 220 degrees.", "The baker opened a second shop last spring.",
         "Glass is made of sand."]
INFILLING = ("[gMASK]<sop><|user|>\n###PATH:depth.py\n###LANGUAGE:Python\n###MODE:BLOCK\n<|code_suffix|>    return most\n<|code_prefix|>"
             "def depth(text):\n    most = open = 0\n    for c in text:\n<|code_middle|><|assistant|>\n")
MIDDLE = "<fim_prefix>int square(int x) {\n  return <fim_suffix>;\n}\n<fim_middle>"
FACTS = "Ada keeps bees. Bo keeps goats. Cy keeps cats. Di keeps hens. Who keeps goats? The answer is"
SHEEP = "One sheep jumps over the fence. Then the next. "
QUESTIONS = ["What is a monsoon?", "Name a red fruit.", "Who wrote Faust, and when?"]
WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather of a city", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
DOCUMENTS = [{"doc_id": 1, "title": "Ferry", "text": "The ferry leaves at 9:40 and at 16:10."},
             {"doc_id": 2, "title": "Museum", "text": "The museum is closed on Mondays."}]
tokenizers.TEXTS += [QUERY, *TEXTS, INFILLING, MIDDLE, SHEEP, *QUESTIONS, json.dumps(WEATHER), json.dumps(DOCUMENTS)]

# ---- chat templates, in the manner of the published ones

TURNS = """{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{% for message in messages %}
{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' + message.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""
CHATML = """{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""
THINKING = CHATML.rstrip().removesuffix("{% endif %}") + """
{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}
"""
INSTRUCTION = """{{ bos_token }}{% for message in messages %}
{%- if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}{% else %}{{ ' ' + message.content + eos_token }}{% endif %}
{%- endfor %}
"""
ROLES = """[gMASK]<sop>{% if tools %}<|system|>
# Tools{% for tool in tools %}{{ '\\n\\n## ' + tool.function.name + '\\n\\n' + tool.function | tojson(indent=4) }}{% endfor %}{% endif %}
{%- for message in messages %}{{ '<|' + message.role + '|>\\n' + message.content }}{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}
"""
DOCUMENTED = """{% if documents %}{{ '<|start_of_role|>system<|end_of_role|>Answer from these documents.\\n<documents>' }}
{%- for document in documents %}{{ '\\n' + document | tojson }}{% endfor %}{{ '\\n</documents><|end_of_text|>\\n' }}{% endif %}
{%- for message in messages %}{{ '<|start_of_role|>' + message.role + '<|end_of_role|>' + message.content + '<|end_of_text|>\\n' }}{% endfor %}
{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}
"""

# ---- tokenizers of each kind


def byte_level(pattern, special, single="$A"):
    """Byte-level BPE that cuts by a pattern, or as GPT-2 does."""
    split = [tokenizers.isolated(pattern)] if pattern else []
    cut = pre_tokenizers.Sequence([*split, pre_tokenizers.ByteLevel(False, use_regex=not pattern)])
    tokenizer = tokenizers.byte_level(cut, size=400, special=special)
    tokenizer.post_processor = tokenizers.around(tokenizer, single)
    return tokenizer


def starcoder2(special):
    cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)])
    return tokenizers.byte_level(cut, size=400, special=special)


def sentencepiece(make, special, single="<s> $A"):
    tokenizer = make()
    tokenizer.post_processor = tokenizers.around(tokenizer, single)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


IM = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
GLM = ("<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")
TURN = ("<start_of_turn>", "<end_of_turn>")

# ---- the examples: the family and its options, the tokenizer, the template, the token that ends an answer, the inputs


def chat(*conversations, **variables):
    return lambda tokenizer: [tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False,
                                                            **variables) for messages in conversations]


def user(text):
    return [{"role": "user", "content": text}]


def texts(*prompts, **options):
    return lambda tokenizer: [tokenizer(text, **options).input_ids for text in prompts]


def both_ways(tokenizer):
    return [ids for thinks in (True, False) for ids in chat(user("Is 91 prime?"), enable_thinking=thinks)(tokenizer)]


def parts(tokenizer):
    return [tokenizer(SHEEP).input_ids + 3 * tokenizer(SHEEP, add_special_tokens=False).input_ids]


def two_turns(tokenizer):
    return chat([{"role": "system", "content": "You are a guide."}, *user("Name a river.")])(tokenizer)


def second_turn(tokenizer, answer):
    return chat([{"role": "system", "content": "You are a guide."}, *user("Name a river."), {"role": "assistant", "content": answer},
                 *user("How long is it?")])(tokenizer)[0]


ONE = dict(head_dim=None)  # a family that takes the dim of heads from the others
EXAMPLES = {
    "gte_qwen": ("Qwen2", dict(ONE, is_causal=False), lambda: byte_level(tokenizers.QWEN2, IM, "$A <|endoftext|>"), None, "<|endoftext|>",
                 texts(QUERY, *TEXTS)),
    "codegeex4": ("Glm", dict(head_dim=4, rope_parameters=dict(rope_type="default", rope_theta=20000.0, partial_rotary_factor=0.5)),
                  lambda: byte_level(tokenizers.LLAMA3, (*GLM, "<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>")), ROLES, "<|user|>",
                  texts(INFILLING, add_special_tokens=False)),
    "gemma": ("Gemma2", dict(sliding_window=16, query_pre_attn_scalar=8, attn_logit_softcapping=20.0, final_logit_softcapping=15.0),
              lambda: sentencepiece(tokenizers.gemma, TURN), TURNS, "<end_of_turn>", chat(user("Why is the sky blue?"))),
    "stable_lm": ("StableLm", dict(ONE, hidden_size=32, use_qkv_bias=True), lambda: byte_level(tokenizers.LLAMA3, ("<|endoftext|>",)), None,
                  "<|endoftext|>", texts("The lighthouse keeper counted the ships:")),
    "starcoder2": ("Starcoder2", dict(ONE, sliding_window=16),
                   lambda: starcoder2(("<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<file_sep>")), None, "<|endoftext|>",
                   texts(MIDDLE)),
    "recurrent_gemma": ("RecurrentGemma", dict(ONE, num_hidden_layers=3, num_key_value_heads=1, intermediate_size=48, lru_width=16,
                                               attention_window_size=16, logits_soft_cap=30.0, w_init_variance_scale=1.0),
                        lambda: sentencepiece(tokenizers.gemma, TURN), TURNS, "<end_of_turn>", parts),
    "yi": ("Llama", dict(rope_parameters=dict(rope_type="default", rope_theta=5e6), num_key_value_heads=1),
           lambda: sentencepiece(tokenizers.llama2_metaspace, IM, "$A"), CHATML, "<|im_end|>", two_turns),
    "glm4": ("Glm4", {}, lambda: byte_level(tokenizers.LLAMA3, GLM), ROLES, "<|user|>", chat(user("Does it rain in Oslo?"), tools=[WEATHER])),
    "olmo": ("Olmo", dict(ONE, clip_qkv=2.0), lambda: byte_level("", ("<|endoftext|>",)), None, "<|endoftext|>",
             texts(*3 * ["Language modeling is"])),
    "mistral": ("Mistral", dict(sliding_window=16), lambda: sentencepiece(tokenizers.llama2_metaspace, ("[INST]", "[/INST]")), INSTRUCTION,
                "</s>", chat(*map(user, QUESTIONS))),
    "qwen": ("Qwen3", dict(tie_word_embeddings=True), lambda: byte_level(tokenizers.QWEN2, (*IM, "<think>", "</think>")), THINKING,
             "<|im_end|>", both_ways),
    "granitemoehybrid": ("GraniteMoeHybrid", dict(decoders.HYBRID, head_dim=None, num_local_experts=4, num_experts_per_tok=2,
                                                  shared_intermediate_size=20, layer_types=["mamba", "attention"]),
                         lambda: byte_level(tokenizers.LLAMA3, ("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>")), DOCUMENTED,
                         "<|end_of_text|>", chat(user("When does the last ferry leave?"), documents=DOCUMENTS)),
    "based": ("Based", {}, lambda: byte_level("", ("<|endoftext|>",)), None, "<|endoftext|>", texts(FACTS)),
}


# ---- making them


def make_tokenizer(make, template, end):
    tokenizer = make()
    begin = "<s>" if tokenizer.token_to_id("<s>") is not None else None
    # Of no family: transformers replaces the parts of a tokenizer whose family it knows.
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end, chat_template=template)


def make_model(family, options, tokenizer, seed):
    torch.manual_seed(seed)
    sizes = dict(decoders.SIZES, vocab_size=len(tokenizer), max_position_embeddings=1024, bos_token_id=tokenizer.bos_token_id,
                 eos_token_id=tokenizer.eos_token_id)
    options = {key: value for key, value in {**sizes, **options, "vocab_size": len(tokenizer)}.items() if key != "head_dim" or value}
    options |= {key: sizes[key] for key in ("max_position_embeddings", "bos_token_id", "eos_token_id")}
    model = getattr(transformers, family + "ForCausalLM")(getattr(transformers, family + "Config")(**options))
    for name, parameter in model.named_parameters():  # norms' weights and biases are not ones and zeros
        if name.endswith("A_log"):  # states last for some tokens
            torch.nn.init.normal_(parameter, -2.0, 1.0)
        elif parameter.dim() == 1:
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.2)
    with torch.no_grad():
        for parameter in model.parameters():  # buffers stay as they are: frequencies are never rounded
            parameter.copy_(parameter.bfloat16())
    model.set_attn_implementation("eager")
    return model.eval()


class Based(based.Based):
    """With the interface of transformers' models that this program uses."""

    def forward(self, ids):
        return transformers.modeling_outputs.CausalLMOutput(logits=super().forward(ids))

    def save_pretrained(self, folder):
        folder.mkdir(exist_ok=True)
        based.save(self, folder)


def make_based(tokenizer, seed):
    torch.manual_seed(seed)
    based.CONFIG |= dict(vocab_size=len(tokenizer), bos_token_id=None, eos_token_id=tokenizer.eos_token_id)
    model = Based()
    based.draw(model)
    return model.bfloat16().float().eval()


def of_image_prompt(name, model_class, processor_class):
    """The small model of tests/golden/image_prompt, which has its tokenizer and image processor, the processor of both, and an image."""
    source = HERE.parent / "image_prompt" / name
    image_processor = transformers.SiglipImageProcessorPil.from_pretrained(source)
    config = json.loads((source / "config.json").read_text())
    vision = config.get("vlm_config", config)["vision_config"]
    image_processor.image_seq_length = (vision["image_size"] // vision["patch_size"]) ** 2
    processor = processor_class(image_processor, transformers.PreTrainedTokenizerFast.from_pretrained(source))
    model = model_class.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
    return model, processor, Image.open(HERE.parent / "images" / "photo.png").convert("RGB")


def save_golden(name, expected):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    safetensors.torch.save_file(expected, folder / "expected.safetensors")
    (folder / "expected.safetensors").chmod(0o644)


def make_paligemma():
    model, processor, image = of_image_prompt("paligemma", transformers.PaliGemmaForConditionalGeneration, transformers.PaliGemmaProcessor)
    inputs = processor(images=[image], text=["<image>caption en"], return_tensors="pt")
    output = model.generate(**inputs, do_sample=False, min_new_tokens=TOKENS, max_new_tokens=TOKENS, return_dict_in_generate=True, output_logits=True)
    save_golden("paligemma", {"logits": output.logits[0], "tokens.0": output.sequences[0]})
    best = torch.cat(output.logits).topk(2).values
    print("paligemma: tokens", output.sequences[0].tolist(), "margin", (best[:, 0] - best[:, 1]).min().item())


def make_colpali():
    model, processor, image = of_image_prompt("colpali", transformers.ColPaliForRetrieval, transformers.ColPaliProcessor)
    with torch.no_grad():
        query, page = (model(**inputs).embeddings for inputs in (processor(text=[PAGES_QUERY]), processor(images=[image])))
    scores = processor.score_retrieval(query, page)
    save_golden("colpali", {"query": query[0], "page": page[0], "scores": scores[0]})
    print("colpali: scores", scores.tolist())


class Weak(Exception):
    """Rounding may change the likeliest tokens, or they are too few to tell one model from another."""


def continuation(model, ids):
    """The first logits, and the ids with the likeliest tokens."""
    ids, first = list(ids), None
    for _ in range(TOKENS):
        logits = model(torch.tensor([ids])).logits[0, -1]
        first = logits if first is None else first
        (best, next_best), (token, _) = (part.tolist() for part in logits.topk(2))
        if best - next_best < MARGIN * logits.abs().max().item():
            raise Weak
        ids.append(token)
    if len(set(ids[-TOKENS:])) < 3:
        raise Weak
    return first, ids


def embedding(model, ids):
    # transformers' own models are causal, unless a mask of 4 dims says otherwise.
    mask = torch.zeros(1, 1, len(ids), len(ids))
    hidden = model.model(torch.tensor([ids]), attention_mask=mask).last_hidden_state[0, -1]
    return hidden / hidden.norm()


def expected_of(name, model, tokenizer, inputs):
    prompts = inputs(tokenizer)
    if name == "gte_qwen":
        return dict(embeddings=torch.stack([embedding(model, ids) for ids in prompts]))
    rows = [continuation(model, ids) for ids in prompts]
    expected = dict(logits=torch.stack([first for first, _ in rows]))
    if name == "yi":
        answer = tokenizer.decode(rows[0][1][-TOKENS:], skip_special_tokens=True)
        if not answer.isprintable() or "\ufffd" in answer:
            raise Weak
        rows = [continuation(model, second_turn(tokenizer, answer))]
    return expected | {f"tokens.{i}": torch.tensor(ids) for i, (_, ids) in enumerate(rows)}


def make(name):
    family, options, make_kind, template, end, inputs = EXAMPLES[name]
    tokenizer = make_tokenizer(make_kind, template, end)
    folder = HERE / name
    for seed in range(10000):
        model = make_based(tokenizer, seed) if family == "Based" else make_model(family, options, tokenizer, seed)
        try:
            with torch.no_grad():
                expected = expected_of(name, model, tokenizer, inputs)
            break
        except Weak:
            pass
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    safetensors.torch.save_file(expected, folder / "expected.safetensors")
    if name == "codegeex4":
        decoders.as_chatglm(folder)
    if name == "recurrent_gemma":  # as published, for texts of any length
        config = json.loads((folder / "config.json").read_text())
        del config["max_position_embeddings"]
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if name == "granitemoehybrid":
        decoders.rename_layers(folder / "config.json")
    tokenizers.write(folder / "tokenizer.json", json.loads(tokenizer.backend_tokenizer.to_str()))
    specials = {key: value for key, value in (("bos_token", tokenizer.bos_token), ("eos_token", end)) if value}
    (folder / "tokenizer_config.json").write_text(json.dumps(specials, indent=2) + "\n")
    if template:
        (folder / "chat_template.jinja").write_text(template)
    for file in folder.iterdir():
        file.chmod(0o644)
    print(f"{name}: seed {seed}, tokens {[len(value) for key, value in expected.items() if key.startswith('tokens')]}")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    of_images = {"paligemma": make_paligemma, "colpali": make_colpali}
    for example in sys.argv[1:] or [*EXAMPLES, *of_images]:
        of_images[example]() if example in of_images else make(example)
