"""model(input_ids=...): held to transformers' own models."""
import pathlib

import numpy as np
import pytest

import wick

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"


def rows(name):
    expected = wick.load_safetensors(GOLDEN / name / "expected.safetensors")
    return [(np.asarray(expected[f"ids.{i}"]), np.asarray(expected[f"logits.{i}"])) for i in range(3)]


@pytest.mark.parametrize("name", ["decoders/llama_yarn", "decoders/gemma3", "decoders/gpt2", "mamba", "based"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_rows_have_the_expected_logits(name, side):
    model = wick.load(GOLDEN / name, device="cpu", dtype=wick.f32)
    texts = rows(name)
    longest = max(len(ids) for ids, _ in texts)
    ids, mask = np.zeros((3, longest), np.int64), np.zeros((3, longest), np.int64)
    places = [slice(longest - len(text), longest) if side == "left" else slice(0, len(text)) for text, _ in texts]
    for row, (text, _) in enumerate(texts):
        ids[row, places[row]], mask[row, places[row]] = text, 1
    logits = model(input_ids=wick.Tensor(ids), attention_mask=wick.Tensor(mask)).logits
    for row, (_, expected) in enumerate(texts):
        np.testing.assert_allclose(np.asarray(logits)[row, places[row]], expected, atol=1e-4)


def test_hidden_states():
    model = wick.load(GOLDEN / "decoders/llama_yarn", device="cpu", dtype=wick.f32)
    outputs = model(wick.Tensor([[1, 2, 3]]), output_hidden_states=True)
    assert set(outputs) == {"logits", "last_hidden_state", "hidden_states.0", "hidden_states.1", "hidden_states.2"}
    again = model(inputs_embeds=outputs["hidden_states.0"])
    np.testing.assert_allclose(np.asarray(again.logits), np.asarray(outputs.logits), atol=1e-5)
    with pytest.raises(AttributeError, match="no 'pooler_output'; it gave"):
        outputs.pooler_output


def test_a_name_that_the_model_does_not_read():
    model = wick.load(GOLDEN / "decoders/llama_yarn", device="cpu", dtype=wick.f32)
    with pytest.raises(ValueError, match='does not read "pixel_values"'):
        model(wick.Tensor([[1]]), pixel_values=wick.Tensor([[1.0]]))
