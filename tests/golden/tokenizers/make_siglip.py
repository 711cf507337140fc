#!/usr/bin/env python3
"""Makes a small SentencePiece model and what transformers' SiglipTokenizer gives for some texts, and tokenizers of type Unigram with
the same rules of normalization for make.py's texts. Ran with sentencepiece 0.2.3, transformers 5.24.0 and tokenizers 0.23.3.

    make_siglip.py FOLDER

FOLDER gets siglip.model, siglip.model.json (texts, and rows by tokenizer_config), and t5, xlm_roberta and siglip_json, each as a
tokenizer of make.py's kind.
"""
import json
import pathlib
import random
import sys
import tempfile
import unicodedata

import sentencepiece
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import make

# Characters whose NFKC, space or nothing a rule writes, and rules of several characters: é composed, and "fi" beside a longer rule.
MAPPED = ("\u00a0\u2003\u3000\u2581\t\n\r\u2028\u00bd\u216b\ufb01\u2460\uff21\uff22\uff23\u212b\u03d3\u1e9b\uff01\ufdfa\u337f\u2026")
RULES = {character: " " if unicodedata.category(character)[0] in "ZC" or character == "\u2581" else unicodedata.normalize("NFKC", character)
         for character in MAPPED}
RULES |= {"\u200b": "", "\x01": "", "e\u0301": "\u00e9", "\u1112\u1161\u11ab": "\ud55c", "a\u0323": "\u1ea1", "a\u0323\u0301": "A\u0301", ">\u0338": "\u226f"}

EXTRA = [
    "a photo of a cat", "A Photo, of TWO dogs!", "\u03a3\u03a3 \u039f\u0394\u039f\u03a3 \u039f\u0394\u039f\u03a3.\u03a3 a.\u03a3. \u03a3'", "\u0130I\u0307 \u1e9e \u01c5",
    "</s>", " </s>", "</s> ", "x</s>", "x</s>y</s> z", "</s></s>", "<unk>", "a<unk>b", " <unk> a", "!!!</s>x", "!!!", "?", " . ", "\u2581", "\u2581</s>a",
    "</S> <UNK> <s> <pad>", "a\u0323 a\u0323\u0301 a\u0301", "</s>\u0338x", ">\u0338", "\u0338", "\u200b", "\u200b\u200b </s>", "a\u200b b", "\x1c\x1d a\x1f b\x85",
    "keep userword and USERWORD userwordy", "\ufdfa\u337f", "\u2026", "<extra> a <EXTRA>", "x<extra></s>", "\U0001f600", "\U0001f600\U0001f600 a \U0001f600",
    "\ufffd\ufeff", "'s 's", "a - b", "a-b", "...a...", "\u00a0a\u3000", "e\u0301E\u0301", "\ufb01\u0301", "\u3002\uff01", "\u0600\u0661", "the " * 40, "\u4f60" * 50,
]


def texts():
    """make.py's, EXTRA, and mixes of their characters."""
    generator = random.Random(5)
    letters = sorted(set("".join(make.TEXTS + EXTRA)) | set(MAPPED))
    parts = letters + [" ", " ", "</s>", "<unk>", "the", " quick", "e\u0301", "\u03a3"]
    mixed = ["".join(generator.choices(parts, k=generator.randint(1, 12))) for _ in range(200 - len(make.TEXTS) - len(EXTRA))]
    return make.TEXTS + EXTRA + mixed


def trained(folder, lines):
    rules = folder / "rules.tsv"
    spell = lambda text: " ".join(f"{ord(c):X}" for c in text)
    rules.write_text("".join(f"{spell(old)}\t{spell(new)}\n" for old, new in RULES.items()))
    (folder / "lines").write_text("\n".join(lines))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "lines"), model_prefix=str(folder / "siglip"), vocab_size=300, model_type="unigram", normalization_rule_tsv=str(rules),
        user_defined_symbols=["userword"], control_symbols=["<extra>"], pad_id=0, eos_id=1, unk_id=2, bos_id=-1, character_coverage=0.98,
        hard_vocab_limit=False, minloglevel=2)
    return (folder / "siglip.model").read_bytes()


def siglip(folder, model):
    special = lambda text, **flags: {"content": text, "special": True, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False} | flags
    configs = [
        {}, {"do_lower_case": False, "pad_token": "<pad>"},
        {"unk_token": "<extra>", "eos_token": "userword", "added_tokens_decoder": {"1": special("</s>", rstrip=True), "2": special("<unk>"), "400": special("quick")}},
    ]
    rows, inputs = [], texts()
    for config in configs:
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            (place / "spiece.model").write_bytes(model)
            (place / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "SiglipTokenizer"}))
            tokenizer = transformers.SiglipTokenizer.from_pretrained(place)
            ids = [tokenizer(text).input_ids for text in inputs]
            rows.append({"config": config, "ids": ids,
                         "special_as_text": [tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids for text in inputs]})
            if "added_tokens_decoder" not in config:  # of that, transformers skips only the tokens that have a role
                rows[-1]["skipped"] = [tokenizer.decode(row, skip_special_tokens=True, clean_up_tokenization_spaces=False) for row in ids]
    make.write(folder / "siglip.model.json", {"texts": inputs, "rows": rows})


def unigrams(model):
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    rules = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    marks = pre_tokenizers.Metaspace()

    def made(vocabulary, unknown, normalizer, pre_tokenizer, decoder=decoders.Metaspace(), special=(), single="$A </s>", fallback=False):
        tokenizer = Tokenizer(models.Unigram(vocabulary, unknown, fallback))
        tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre_tokenizer, decoder
        tokenizer.add_special_tokens(list(special))
        tokenizer.post_processor = make.around(tokenizer, single)
        return tokenizer

    ends = [AddedToken(text, normalized=False) for text in ("</s>", "<unk>", "<pad>")]
    yield "t5", made(pieces, 2, rules, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marks]), special=ends + ["<extra_id_0>"])
    fallback = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces[3:] + [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    yield "xlm_roberta", made(
        fallback, 3, normalizers.Sequence([rules, normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), [AddedToken("<mask>", lstrip=True)] + ends, "<s> $A </s>", True)
    clean_up = normalizers.Sequence([
        rules, normalizers.Lowercase(), normalizers.Replace(Regex(r"[!-/:-@\[-`{-~]"), ""), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    yield "siglip_json", made(pieces, 2, clean_up, marks, special=ends)


def main():
    folder = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        model = trained(pathlib.Path(place), make.TEXTS + EXTRA)
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    proto.trainer_spec.ClearField("input")
    proto.trainer_spec.ClearField("model_prefix")
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    next(piece for piece in proto.pieces if piece.piece == "z").type = sentencepiece_model_pb2.ModelProto.SentencePiece.UNUSED
    model = proto.SerializeToString()
    (folder / "siglip.model").write_bytes(model)
    siglip(folder, model)
    for name, tokenizer in unigrams(model):
        file = json.loads(tokenizer.to_str())
        make.write(folder / f"{name}.json", file)
        make.write(folder / f"{name}.expected.json", make.expected(Tokenizer.from_str(json.dumps(file)), spelled(file)))


def spelled(file):
    """The file with a vocabulary by token, as that of a BPE is."""
    return file | {"model": {"vocab": {token: index for index, (token, _) in enumerate(file["model"]["vocab"])}}}


if __name__ == "__main__":
    main()
