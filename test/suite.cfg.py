"""lit configuration of the tool tests: everything below test/ and passes/.

Its name keeps lit, which walks the whole project, from taking test/ for a suite
of its own."""

import glob
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "kb-opt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".test", ".mlir"]
config.test_source_root = config.source_dir
config.test_exec_root = os.path.join(config.binary_dir, "test", "out")

# The suite's root is the project, so that a pass's tests lie in the pass's folder.
tested = {"test", "passes"}
config.excludes = [name for name in os.listdir(config.source_dir) if name not in tested]
config.excludes += ["unit", "examples", "Inputs", "README.md"]

toolkit = os.environ.get("CUDA_PATH")
path = [os.path.join(config.binary_dir, "bin"), config.llvm_tools_dir]
if toolkit:
    path.append(os.path.join(toolkit, "bin"))
    config.environment["CUDA_PATH"] = toolkit
config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
# Tests, or lines of a test, that take long: `scripts/test all` runs them.
if lit_config.params.get("long", "1") == "1":
    config.available_features.add("long")
# Tests neither see nor touch what the user has learnt.
for kind in ("DATA", "CACHE"):
    config.environment[f"XDG_{kind}_HOME"] = os.path.join(config.test_exec_root, "xdg", kind.lower())

config.substitutions.append(("%source_dir", config.source_dir))
config.substitutions.append(("%binary_dir", config.binary_dir))
config.substitutions.append(("%python", "/usr/bin/python3"))
# A rewritten file without the directives of the test that it was made of, which would match themselves.
config.substitutions.append(("%code", "grep -vE '^ *// *[A-Z]+(-[A-Z]+)*:'"))
config.substitutions.append(("%status", f"/usr/bin/python3 {config.source_dir}/test/status.py"))

if os.path.exists(os.path.join(config.binary_dir, "test", "fake-cuda", "libcuda.so.1")):
    config.available_features.add("fake-cuda")
# What a GPU computed; made by scripts/gpu-conformance.
if os.path.exists(os.path.join(config.source_dir, "test", "conformance", "Inputs", "results.xz")):
    config.available_features.add("conformance-results")
nvcc = os.path.join(toolkit, "bin", "nvcc") if toolkit else shutil.which("nvcc")
if nvcc:
    config.available_features.add("nvcc")
    config.substitutions.append(("%nvcc", nvcc))
    config.substitutions.append(("%cuda", toolkit or os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))))
for name, library, program in [("plugin", "libkbopt-clang.so", "clang++"), ("tidy", "libkbopt-tidy.so", "clang-tidy")]:
    library = os.path.join(config.binary_dir, "lib", library)
    config.substitutions.append(("%clang_plugin" if name == "plugin" else "%tidy_module", library))
    if os.path.exists(library) and os.path.exists(os.path.join(config.llvm_tools_dir, program)):
        config.available_features.add("clang-plugin" if name == "plugin" else "clang-tidy-module")
# What scripts/test installs from PyPI for the tests alone.
pypi = os.path.join(config.binary_dir, "test", "pypi")
config.substitutions.append(("%pypi", pypi))
if os.path.isdir(os.path.join(pypi, "mcp")):
    config.available_features.add("mcp-client")
if shutil.which("cmake") and shutil.which("ninja"):
    config.available_features.add("cmake")
if shutil.which("bwrap") and subprocess.run(
    ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True
).returncode == 0:
    config.available_features.add("sandbox")
if glob.glob(os.path.join(os.path.dirname(config.llvm_tools_dir), "lib", "clang", "*", "lib", "*", "libclang_rt.asan*.a")):
    config.available_features.add("sanitizers")
if shutil.which("strace") and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True).returncode == 0:
    config.available_features.add("strace")
sys.path.insert(0, os.path.join(config.source_dir, "test", "cluster", "Inputs"))
import machines  # noqa: E402
import postgres  # noqa: E402
import slurm  # noqa: E402

if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
    config.available_features.add("mount")
if not postgres.missing():
    config.available_features.add("postgresql")
if not machines.missing():
    config.available_features.add("machines")
if not slurm.missing():
    config.available_features.add("slurm")
for feature, name in [("bundle", "kb-opt-bundle.tar.xz"), ("wheel", "kb_opt-*.whl"), ("deb", "kb-opt_*.deb")]:
    for package in glob.glob(os.path.join(config.binary_dir, name)):
        config.substitutions.append((f"%{feature}_file", package))
        if os.path.getmtime(package) >= os.path.getmtime(os.path.join(config.binary_dir, "bin", "kb-opt")):
            config.available_features.add(feature)
if subprocess.run(["/usr/bin/python3", "-c", "import torch.utils.cpp_extension"], capture_output=True).returncode == 0:
    config.available_features.add("torch")
if shutil.which("nvidia-smi"):
    config.available_features.add("cuda-device")
