"""Models that compare images with texts."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from . import _wick
from ._wick import Device, DType, Tensor
from .hub import local_path
from .language import Outputs, _ranked


class ImageTextModel(_wick._ImageTextModel):
    """A SigLIP or CLIP with its tokenizer and image processor. wick.load_image_text makes one.

    model = wick.load_image_text("siglip-base-patch16-224")
    model.rank("a photo of a cat", ["cat.jpg", "dog.png"])  # [(0, 0.97), (1, 0.01)]
    """

    def __call__(self, input_ids: Tensor | None = None, pixel_values: Tensor | None = None, attention_mask: Tensor | None = None, *,
                 output_hidden_states: bool = False, **inputs: Tensor) -> Outputs:
        """The tensors of transformers' models: .image_embeds [N, D] of pixel_values [N, 3, H, W], .text_embeds [B, D] of input_ids [B, T], and
        for both .logits_per_image [N, B] and .logits_per_text.

        attention_mask        [B, T]: 0 for padding
        output_hidden_states  also "vision_model_output.hidden_states.I", the input of block I, and the same of text_model_output
        """
        given = {"input_ids": input_ids, "pixel_values": pixel_values, "attention_mask": attention_mask, **inputs}
        return Outputs(self._forward({name: tensor for name, tensor in given.items() if tensor is not None}, output_hidden_states))

    def rank(self, query: str, images: Sequence[Any]) -> list[tuple[int, float]]:
        """(index, score) of each image, the best first: images are paths, bytes of files, or pixels u8 [H, W, 3].

        The score of a SigLIP is the probability that text and image belong together, the score of a CLIP their cosine times the model's
        scale.
        """
        return _ranked(query, images, self.embed_texts, lambda text, image: self.scores(text, self.embed_images(image)))

    def __repr__(self) -> str:
        return (f"wick.ImageTextModel(model_type={self.model_type!r}, projection_dim={self.projection_dim}, "
                f"device='{self.device}', dtype={self.dtype})")


def load_image_text(path: str | PathLike[str], device: Device | str | None = None, dtype: DType | str | None = None,
                    progress: Callable[[int, int], object] | None = None) -> ImageTextModel:
    """Loads a SigLIP or CLIP from the HuggingFace hub, or from a folder as the hub has it.

    path      the folder; or ORG/NAME[@REVISION], which wick.download brings if no folder has this name
    device    where it computes; None: the best device of this machine
    dtype     of the computation; None: the device's preferred one
    progress  is called with (bytes read, all bytes) after each tensor

    Errors: FileNotFoundError and other OSErrors; ValueError for damaged files, naming the file; NotImplementedError for a model of
    another kind; MemoryError, before a weight is read, for a model larger than the device's memory.
    """
    return ImageTextModel(_wick._load_image_text(local_path(path, device), device, dtype, progress))
