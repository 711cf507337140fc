"""Words that may stand in some places only: vendors' names in code, machines' names anywhere."""
import re

import tree

_VENDORS = re.compile(r"(?<![A-Za-z0-9_])(cuda|hip|rocm)(?![A-Za-z0-9_])")
_VENDORS_MAY_STAND = re.compile(
    r"backends/gpu/(runtime|device|libraries)/"
    r"|(src|include/wick)/core/(device|rocm)\.[a-z]+$"
    r"|(src|include/wick)/ops/(custom/)?custom_op\.[a-z]+$"
    r"|examples/custom_kernel\.(cpp|hip)$"
    r"|(.*/)?(doctor|profiling)[^/]*$")
_CODE_FOLDERS = ("src/", "include/", "backends/", "cli/", "examples/", "bench/", "python/")


def vendor_violations(root):
    """cuda, hip and rocm as whole identifiers: code alone, neither comments nor texts. Tests may name devices."""
    result = []
    for name in tree.cpp_files(root):
        if not str(name).startswith(_CODE_FOLDERS) or _VENDORS_MAY_STAND.match(str(name)):
            continue
        for number, line in enumerate(tree.code_of(tree.read(root, name) or "").splitlines(), 1):
            for match in _VENDORS.finditer(line):
                result.append(f"{name}:{number}: the identifier {match.group()} stands outside of backends/gpu/{{runtime,device,libraries}}, "
                              "core/{device,rocm}.*, ops/custom_op.*, examples/custom_kernel.*, doctor and profiling")
    return result


# A folder or host of somebody's machine says nothing to the next reader. Written so that this file has none itself.
_MACHINES = re.compile(
    r"(?<![\w.$}-])/(?:home|Users)/[A-Za-z][\w.-]*/"          # a user's folder
    r"|(?<![\w.$})/-])/(?:root|work|workspace|scratch)/[\w.-]"  # a machine's
    r"|(?<![\w.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\w.])"  # a private network's
    r"|https?://[\w-]+(?::\d+)?/"                             # a host without a domain
    r"|\b[\w-]+\.(?:internal|intranet|corp|lan)\b(?=[:/])")


def machine_violations(root):
    result = []
    for name in tree.files(root):
        text = tree.read(root, name)
        for number, line in enumerate((text or "").splitlines(), 1):
            for match in _MACHINES.finditer(line):
                if not match.group().startswith(("http://localhost", "http://127.")):
                    result.append(f"{name}:{number}: \"{match.group()}\" names one machine")
    return result
