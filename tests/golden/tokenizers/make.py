#!/usr/bin/env python3
"""Makes small BPE tokenizers and what HuggingFace's tokenizers 0.23.3 gives for some texts.

    make.py FOLDER

FOLDER gets a tokenizer and the expected results for each function of MAKERS, and the texts. Each tokenizer has the components of a family of published ones, or a mix of the rarer ones; its vocabulary is trained on the texts.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE

TEXTS = [
    "",
    " ",
    "a",
    " a",
    "  two  spaces ",
    "Hello, world! It's 2024, isn't it? WE'LL see; they'Re here'S.",
    "The quick brown fox jumps over the lazy dog. the the the theme thesis other another",
    "tabs\tand\r\nlines\n\n\n  indented\n\t\n end  \n",
    "digits 1 12 123 1234 12345678 3.14159 1,000,000 \u0663\u0664\u0665 \u00bd \u216b",
    "CamelCaseWord HTTPServer snake_case kebab-case x=y+z; // comment /* */ != <= --> \u201cquoted\u201d",
    "Stra\u00dfe na\u00efve caf\u00e9 cafe\u0301 \u00c5ngstro\u0308m \u0130stanbul \ufb01n \u2460 \uff21\uff22\u3000\uff23",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 \u4f60\u597d\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \ud55c\uae00 \u1112\u1161\u11ab \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947",
    "emoji \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 flags \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "marks a\u0323\u0301 q\u0307\u0323 \u0345\u0316 \u09c7\u09be \u1e9b\u0323 \u212b \u03d3",
    "\u2581marked\u2581 \u2581\u2581 spaces\u2003em\u00a0nbsp\u200bzero\u3000wide\u0085next\u2028line",
    "\x00\x01\x7f control \ufeff \ufffd <0x41> <0xE4> <unk>",
    "<s>special</s> <|im_start|>user\nhi<|im_end|>\n<mask>  <mask>masked <mask> <pad><pad> x<tool>y <tool> tools Tool TOOL",
    "\u0120letters \u00c4\u0120 \u010a raw",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "          many          spaces          ",
]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
          r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
LLAMA4 = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION +
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION +
          r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def isolated(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def trained(tokenizer, size, special=(), alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=list(alphabet), show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def byte_level(pre_tokenizer, size=340, special=("<s>", "</s>", "<|im_start|>", "<|im_end|>"), **options):
    tokenizer = Tokenizer(BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    return trained(tokenizer, size, special, pre_tokenizers.ByteLevel.alphabet())


def around(tokenizer, single):
    names = [name for name in single.split() if not name.startswith("$")]
    return processors.TemplateProcessing(single=single, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])


def gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def llama3():
    tokenizer = byte_level(pre_tokenizers.Sequence([isolated(LLAMA3), pre_tokenizers.ByteLevel(False, use_regex=False)]), ignore_merges=True)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), around(tokenizer, "<s> $A")])
    # A word that merges alone do not make.
    tokenizer.add_tokens([AddedToken("unused", normalized=False)])
    return tokenizer


def qwen2():
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([isolated(QWEN2), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trained(tokenizer, 340, ["<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    return tokenizer


def starcoder2():
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]))


def tekken():
    tokenizer = byte_level(pre_tokenizers.Sequence([isolated(TEKKEN), pre_tokenizers.ByteLevel(False, use_regex=False)]), ignore_merges=True)
    tokenizer.post_processor = around(tokenizer, "<s> $A </s>")
    return tokenizer


def llama4():
    tokenizer = byte_level(pre_tokenizers.Sequence([isolated(LLAMA4), pre_tokenizers.ByteLevel(False, use_regex=False)]))
    tokenizer.post_processor = around(tokenizer, "<s> $A")
    return tokenizer


def sentencepiece(normalizer, pre_tokenizer, decoder, single="<s> $A", size=420):
    """Trained on marked words, with a token for each byte."""
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, limit_alphabet=60, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = file["added_tokens"][:3]  # byte tokens are no special tokens
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    tokenizer.post_processor = around(tokenizer, single)
    return tokenizer


def llama2():
    return sentencepiece(
        normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
        decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def llama2_metaspace():
    return sentencepiece(
        None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def metaspace():
    return sentencepiece(None, pre_tokenizers.Metaspace(), decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), "<s> $A </s>")


def gemma():
    return sentencepiece(
        normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]))


def words():
    tokenizer = Tokenizer(BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="##"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits()])
    tokenizer.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(vocab_size=260, special_tokens=["<unk>", "<s>", "</s>"], continuing_subword_prefix="##",
                                  end_of_word_suffix="</w>", limit_alphabet=60, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    return tokenizer


def rare():
    """Components in orders that no published file has: letters in the middle, an added token that is normalized."""
    tokenizer = Tokenizer(BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(r"\s{2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.ByteLevel(add_prefix_space=True), pre_tokenizers.Split(Regex(r"[aeiou]"), "merged_with_next"),
        pre_tokenizers.Split(Regex(r"[a-z]+"), "contiguous", invert=True), pre_tokenizers.FixedLength(7)])
    trained(tokenizer, 300, ["<unk>"])
    tokenizer.add_tokens([AddedToken("Tool", normalized=True), AddedToken("\uff34\uff2f\uff2f\uff2c", normalized=True)])
    return tokenizer


def splits():
    tokenizer = Tokenizer(BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.Split("t", "removed"),
        pre_tokenizers.Split(Regex(r"\d+"), "merged_with_previous"), pre_tokenizers.Split(Regex(r"\b"), "isolated")])
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], limit_alphabet=40, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def added():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), special=("<s>",))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_special_tokens([
        AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<pad>", rstrip=True, normalized=False),
        AddedToken("<|im_end|>", lstrip=True, rstrip=True, normalized=False), AddedToken("<|im_", normalized=False)])
    tokenizer.add_tokens([
        AddedToken("tool", single_word=True), AddedToken("<tool>", single_word=True, normalized=False), AddedToken("  ", normalized=False),
        AddedToken("DOG", normalized=True), AddedToken("oth", normalized=False), AddedToken("other", normalized=False)])
    return tokenizer


def clip():
    """Without the specials that stand in the texts, which CLIP spells otherwise."""
    ends = ("<|startoftext|>", "<|endoftext|>")
    tokenizer = Tokenizer(BPE(unk_token=ends[1], continuing_subword_prefix="", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=640, special_tokens=list(ends), end_of_word_suffix="</w>",
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing((ends[1], 1), (ends[0], 0), False, False)
    return tokenizer


def siglip2():
    """Gemma's, in lower case and with an end."""
    return sentencepiece(
        normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "\u2581")]), pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]), "$A </s>")


MAKERS = [gpt2, roberta, llama3, qwen2, starcoder2, tekken, llama2, llama2_metaspace, metaspace, gemma, words, rare, splits, added, clip, siglip2,
          llama4]


def expected(tokenizer, file):
    """By text: flat offsets; tokens only where the vocabulary does not spell them so; other results only where they differ."""
    spelled = {index: token for token, index in file["model"]["vocab"].items()}
    spelled |= {tokenizer.token_to_id(token["content"]): token["content"] for token in file["added_tokens"]}
    rows = []
    for text in TEXTS:
        encoding = tokenizer.encode(text)
        bare = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = True
        as_text = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        row = {"ids": encoding.ids, "offsets": [end for pair in encoding.offsets for end in pair]}
        if encoding.tokens != [spelled[index] for index in encoding.ids]:
            row["tokens"] = encoding.tokens
        if bare != encoding.ids:
            row["bare"] = bare
        if as_text != bare:
            row["special_as_text"] = as_text
        row["decoded"] = tokenizer.decode(encoding.ids, skip_special_tokens=False)
        skipped = tokenizer.decode(encoding.ids)
        if skipped != row["decoded"]:
            row["skipped"] = skipped
        rows.append(row)
    return rows


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "texts.json", TEXTS)
    for make in MAKERS:
        file = json.loads(make().to_str())
        if make in (gpt2, qwen2):  # the older form of merges
            file["model"]["merges"] = [" ".join(pair) for pair in file["model"]["merges"]]
        write(folder / f"{make.__name__}.json", file)
        write(folder / f"{make.__name__}.expected.json", expected(Tokenizer.from_str(json.dumps(file)), file))


if __name__ == "__main__":
    main()
