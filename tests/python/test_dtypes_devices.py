"""Dtypes and devices as Python objects."""
import pickle

import pytest

import wick


def test_dtypes_have_the_names_of_wick_numpy_and_pytorch():
    assert wick.float32 is wick.f32 and wick.bfloat16 is wick.bf16 and wick.int64 is wick.i64
    assert repr(wick.f32) == str(wick.f32) == "wick.f32" and wick.f32.name == "f32"
    assert wick.f16.itemsize == 2 and wick.f16.is_floating_point and not wick.i8.is_floating_point
    assert wick.q4_0 in {wick.q4_0}
    with pytest.raises(TypeError):
        wick.q4_0.itemsize


def test_dtypes_pickle_to_themselves():
    assert pickle.loads(pickle.dumps(wick.bf16)) is wick.bf16


def test_a_device_equals_its_names():
    emulator = wick.Device("emu:32")
    assert emulator == "emu:32" and emulator != "emu" and emulator != "emu:64" and emulator != "cpu"
    assert wick.Device("cpu") == "cpu" and wick.Device("cpu") == wick.Tensor(1).device
    assert (emulator.type, emulator.index, str(emulator), repr(emulator)) == ("emu", 32, "emu:32", "wick.Device('emu:32')")
    assert len({emulator, wick.Device("emu:32"), wick.Device("cpu")}) == 2
    assert pickle.loads(pickle.dumps(emulator)) == emulator


def test_unknown_and_absent_devices_are_refused():
    with pytest.raises(ValueError, match="tpu"):
        wick.Device("tpu")
    with pytest.raises(RuntimeError, match="cuda"):
        wick.zeros([1], device="cuda:99")


def test_the_devices_of_this_machine():
    devices = wick.devices()
    assert wick.Device("cpu") in devices and wick.Device("emu:32") in devices
    assert all(d.name and d.architecture for d in devices)


def test_doctor_describes_the_machine():
    text = wick.doctor()
    assert "\ncpu " in text
    assert text.rstrip().split("\n")[-1].endswith(("note", "notes"))


def test_a_dtype_equals_its_names():
    assert wick.f32 == "f32" and wick.f32 == "float32" and wick.f32 != "f16" and not wick.f32 != "float" and wick.f32 == wick.float32
    assert wick.f32 != 3 and wick.f32 != None and wick.f16 in ("f16", "bf16")  # noqa: E711
    assert {wick.f32: 1}[wick.float32] == 1 and len({wick.f32, wick.f16, wick.f32}) == 2
