"""Who may include whom: the floors of ARCHITECTURE.md."""
import pathlib
import posixpath
import re

import tree

_BELOW_CORE = {"base", "abi", "scalar"}
_BELOW_FOUR = _BELOW_CORE | {"core", "ops"}

# folder of src/ or include/wick/: its floor, and the folders that it may include beside itself
FLOORS = {
    "base": (0, set()),
    "abi": (1, {"base"}),
    "scalar": (1, {"base", "abi"}),
    "core": (2, _BELOW_CORE),
    "ops": (3, _BELOW_CORE | {"core"}),
    "io": (4, _BELOW_FOUR),
    "hub": (4, {"base"}),
    "text": (4, _BELOW_FOUR),
    "media": (4, _BELOW_FOUR),
    "nn": (4, _BELOW_FOUR),
    "dist": (4, _BELOW_FOUR),
    "doctor": (5, _BELOW_FOUR | {"io"}),
    "models": (5, _BELOW_FOUR | {"text", "media", "nn"}),  # a model takes named tensors and a config, not paths: no io
    "load": (6, _BELOW_FOUR | {"dist", "io", "hub", "text", "media", "nn", "models"}),
    "generate": (7, _BELOW_FOUR | {"io", "hub", "text", "media", "nn", "models", "load"}),
    "train": (7, _BELOW_FOUR | {"dist", "io", "hub", "text", "media", "nn", "models", "load"}),
    "serve": (8, _BELOW_FOUR | {"io", "hub", "text", "media", "nn", "models", "load", "generate"}),
}
USERS = {"cli", "python", "examples", "bench"}  # floor 9: include/wick and themselves
BACKEND_MAY_INCLUDE = _BELOW_CORE

# Device compilers read these, hipRTC and NVRTC among them, which have no standard headers.
_DEVICE_FOLDERS = ("include/wick/abi/", "src/scalar/", "backends/gpu/kernels/")
# What a public header may take from outside: C++'s own.
_STANDARD_HEADER = re.compile(r"[a-z_0-9]+")


def folder_of(name):
    """What the rules know a file by: a folder of FLOORS or USERS, "backends/cpu", "tests", "wick" (the one header of all), or ""."""
    parts = pathlib.PurePosixPath(name).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "wick"):
        return parts[2] if len(parts) > 3 else "wick"
    if parts[0] == "backends" and len(parts) > 2:
        return "backends/" + parts[1]
    return parts[0] if len(parts) > 1 else ""


def shown(name):
    """As include lines say it, with the floor."""
    name, folder = str(name), folder_of(name)
    short = re.sub(r"^(src|include/wick)/", "", name)
    if folder in FLOORS:
        return f"{short} (floor {FLOORS[folder][0]})"
    if folder in USERS:
        return f"{short} (floor 9)"
    if folder.startswith("backends/"):
        return f"{short} (a backend)"
    return short


def _resolve(root, name, included, quoted):
    """The file of the tree that an include means; None if it is none of ours."""
    folders = [str(pathlib.PurePosixPath(name).parent)] if quoted else []
    folders += ["include", "src", "."]
    if folder_of(name).startswith("backends/"):
        folders.append(folder_of(name))
    for folder in folders:
        path = posixpath.normpath(posixpath.join(folder, included))
        if not path.startswith("..") and (pathlib.Path(root) / path).is_file():
            return path
    return None


def _may_include(source, target):
    """Whether file source may include file target of the same tree."""
    here, there = folder_of(source), folder_of(target)
    if here == "tests" or here == there:
        return True
    if here in USERS:
        return str(target).startswith("include/wick/")
    if here == "wick":
        return str(target).startswith("include/wick/")
    if here.startswith("backends/"):
        return there in BACKEND_MAY_INCLUDE
    return here in FLOORS and there in FLOORS[here][1]


def violations(root):
    result = []
    for name in tree.cpp_files(root):
        text = tree.read(root, name)
        for line, included, quoted in tree.includes(text or ""):
            where = f"{name}:{line}: "
            target = _resolve(root, name, included, quoted)
            if target is None:
                if str(name).startswith("include/wick/") and not _STANDARD_HEADER.fullmatch(included):
                    result.append(f"{where}{shown(name)} includes <{included}>: a public header includes wick's and C++'s own alone")
                if str(name).startswith(_DEVICE_FOLDERS) and included != "cmath":  # scalar/math.h takes that for hosts
                    result.append(f"{where}{shown(name)} includes <{included}>: device compilers read this folder, and have no such header")
            elif str(name).startswith("include/") and not target.startswith("include/"):
                result.append(f"{where}{shown(name)} is public and includes {target}, which is not")
            elif not _may_include(name, target):
                result.append(f"{where}{shown(name)} includes {shown(target)}")
    folders = {pathlib.PurePosixPath(name).parts[1] for name in tree.files(root)
               if name.parts[0] == "src" and len(name.parts) > 2}
    result += [f"src/{folder}: a folder without a floor; give it one in tests/structure/floors.py"
               for folder in sorted(folders - set(FLOORS))]
    return result
