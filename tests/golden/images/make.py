"""Writes small images of every kind, and what Pillow and transformers make of them, beside this file.

    pip install pillow numpy torch transformers; python tests/golden/images/make.py

Made with Pillow 13.0.0, transformers 5.24.0, numpy 2. Every image is random and small. Files:

- NAME.png, NAME.jpg, NAME.webp: files to decode.
- decoded.safetensors: the pixels of each file, ImageOps.exif_transpose(image).convert("RGB"), u8 [H, W, 3].
- resized.safetensors: "FILTER.WIDTHxHEIGHT", photo.png resized by the filter of that number, u8 [H, W, 3].
- processors.json: preprocessor configs; processors.safetensors: "I.FILE", the pixel_values of config I for the file.
"""
import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps
from safetensors.numpy import save_file
from transformers import CLIPImageProcessorPil, SiglipImageProcessorPil, ViTImageProcessorPil

here = pathlib.Path(__file__).parent
random = np.random.default_rng(54)


def picture(height, width, channels):
    """Gradients, edges and some noise: with values at both ends, which clipping needs."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = 128 + 120 * np.sin(x / (3.0 + c)) * np.cos(y / (4.0 - c % 3)) + random.normal(0, 12, (height, width))
        plane[height // 4: height // 2, width // 3: width // 2] = 255 * (c % 2)
        planes.append(plane)
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, color, rows, *extra, interlace=0):
    """A PNG of raw rows, for the kinds that Pillow does not write."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace))
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def interlaced(pixels):
    """Adam7 of 8-bit pixels [H, W, C]."""
    rows = []
    for x0, y0, dx, dy in (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2):
        part = pixels[y0::dy, x0::dx]
        rows += [row.tobytes() for row in part] if part.shape[1] else []
    return rows


def orientation(value, little):
    order = "<" if little else ">"
    tiff = (b"II*\0" if little else b"MM\0*") + struct.pack(order + "I", 8)
    # A tag before it, so that the search goes on.
    entries = struct.pack(order + "HHI", 0x0100, 4, 1) + struct.pack(order + "I", 7)
    entries += struct.pack(order + "HHI", 0x0112, 3, 1) + struct.pack(order + "H", value) + b"\0\0"
    return b"Exif\0\0" + tiff + struct.pack(order + "H", 2) + entries + bytes(4)


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


files = {}
rgb = Image.fromarray(picture(19, 23, 3))
rgba = Image.fromarray(picture(19, 23, 4))
gray = Image.fromarray(picture(19, 23, 1)[..., 0])
cmyk = Image.frombytes("CMYK", (23, 19), picture(19, 23, 4).tobytes())
files["rgb.png"] = encoded(rgb, "png")
files["rgba.png"] = encoded(rgba, "png")
files["gray.png"] = encoded(gray, "png")
files["gray_alpha.png"] = encoded(Image.merge("LA", (gray, rgb.getchannel(1))), "png")
files["gray_transparent.png"] = encoded(gray, "png", transparency=128)
files["palette.png"] = encoded(rgb.quantize(40), "png")
files["palette_transparent.png"] = encoded(rgb.quantize(11), "png", transparency=bytes(range(0, 110, 10)))
files["bits1.png"] = encoded(gray.convert("1"), "png")
samples = picture(5, 9, 4)
for bits in 2, 4:
    packed = [np.packbits(np.unpackbits((row[:, :1] >> (8 - bits)), axis=1)[:, 8 - bits:].reshape(-1)).tobytes() for row in samples]
    files[f"bits{bits}.png"] = png(9, 5, bits, 0, packed)
wide = random.integers(0, 65536, (5, 9, 4)).astype(">u2")
wide[0, :4, 0] = 0, 1, 254, 256
for color, channels in (0, 1), (2, 3), (4, 2), (6, 4):
    files[f"deep{channels}.png"] = png(9, 5, 16, color, [row[:, :channels].tobytes() for row in wide])
files["interlaced.png"] = png(23, 19, 8, 2, interlaced(np.array(rgb)), interlace=1)
files["short_palette.png"] = png(4, 1, 8, 3, [bytes([0, 1, 2, 200])], chunk(b"PLTE", bytes([10, 20, 30, 40, 50, 60])))
files["exif.png"] = encoded(rgb, "png", exif=orientation(6, True))
files["rgb.jpg"] = encoded(rgb, "jpeg", quality=90, subsampling=0)
files["subsampled.jpg"] = encoded(rgb, "jpeg", quality=60, subsampling=2)
files["progressive.jpg"] = encoded(rgb, "jpeg", quality=80, progressive=True, subsampling=1)
files["gray.jpg"] = encoded(gray, "jpeg", quality=80)
files["cmyk.jpg"] = encoded(cmyk, "jpeg", quality=90)
for value in range(1, 9):
    files[f"exif{value}.jpg"] = encoded(rgb.crop((0, 0, 11, 6)), "jpeg", quality=90, exif=orientation(value, value % 2 == 0))
files["lossy.webp"] = encoded(rgb, "webp", quality=80)
files["lossless.webp"] = encoded(rgb, "webp", lossless=True)
files["alpha.webp"] = encoded(rgba, "webp", quality=80)
files["lossless_alpha.webp"] = encoded(rgba, "webp", lossless=True, exact=True)
files["exif.webp"] = encoded(rgb, "webp", quality=70, exif=orientation(8, False))
files["animated.webp"] = encoded(rgba, "webp", quality=70, save_all=True, append_images=[rgba.transpose(Image.Transpose.ROTATE_180)])
photo = Image.fromarray(picture(37, 53, 3))
files["photo.png"] = encoded(photo, "png")
files["tall.png"] = encoded(photo.crop((0, 0, 14, 37)), "png")


def upright(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


decoded = {}
for name, data in files.items():
    (here / name).write_bytes(data)
    decoded[name] = np.array(upright(data))
save_file(decoded, here / "decoded.safetensors")

# Smaller and larger, one axis alone, both ways at once, to one pixel; at either side of the size where Pillow changes its order.
SIZES = [(20, 30), (53, 11), (17, 37), (53, 41), (50, 40), (1, 1), (60, 5), (43, 17), (44, 17)]
save_file({f"{filter}.{w}x{h}": np.array(photo.resize((w, h), filter)) for filter in range(6) for w, h in SIZES},
          here / "resized.safetensors")

HALF = [0.5, 0.5, 0.5]
configs = [
    # As the hub has them: PaliGemma, SigLIP, CLIP of both forms, ViT of both.
    {"image_processor_type": "SiglipImageProcessor", "processor_class": "PaliGemmaProcessor", "do_convert_rgb": None,
     "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": HALF, "image_std": HALF,
     "image_seq_length": 256, "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"height": 28, "width": 28},
     "_valid_processor_keys": ["images", "do_resize"]},
    {"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 24}, "resample": 2,
     "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]},
    {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 18, "width": 18}, "size": {"shortest_edge": 20}},
    {"feature_extractor_type": "CLIPFeatureExtractor", "crop_size": 22, "do_center_crop": True, "resample": 3, "size": 22},
    {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 41, "width": 17}, "size": {"shortest_edge": 20},
     "resample": 1, "do_rescale": False},
    {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 15, "width": 40}, "do_resize": False,
     "do_normalize": False, "rescale_factor": 0.01},
    {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 16, "width": 16},
     "size": {"shortest_edge": 20, "longest_edge": 25}, "resample": 5},
    {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 31}, "resample": 0},
    {"feature_extractor_type": "ViTFeatureExtractor", "size": 19, "do_normalize": False},
    {"image_processor_type": "ViTImageProcessor", "size": [12, 13], "resample": 4, "image_mean": 0.3, "image_std": 0.7},
    {"image_processor_type": "ViTImageProcessorFast", "size": {"max_height": 30, "max_width": 25}, "do_center_crop": True,
     "crop_size": 24},
]
classes = {"Siglip": SiglipImageProcessorPil, "CLIP": CLIPImageProcessorPil, "ViT": ViTImageProcessorPil}
values = {}
for i, config in enumerate(configs):
    kind = config.get("image_processor_type") or config["feature_extractor_type"]
    options = {key: value for key, value in config.items() if not key.endswith("_type") and key not in ("processor_class", "_valid_processor_keys")}
    processor = next(c for name, c in classes.items() if kind.startswith(name))(**options)
    for name in "photo.png", "tall.png":
        values[f"{i}.{name}"] = processor(upright(files[name]), return_tensors="np")["pixel_values"].astype(np.float32)
(here / "processors.json").write_text(json.dumps({"configs": configs}, indent=1) + "\n")
save_file(values, here / "processors.safetensors")
for path in here.glob("*.safetensors"):
    path.chmod(0o644)
