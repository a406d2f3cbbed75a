"""Builds row_scale: python3 setup.py build_ext --inplace (PyTorch and the CUDA toolkit)."""
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="row_scale", ext_modules=[CUDAExtension("row_scale", ["row_scale.cu"])], cmdclass={"build_ext": BuildExtension})
