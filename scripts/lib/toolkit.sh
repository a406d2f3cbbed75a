# SPDX-License-Identifier: Apache-2.0
#
# Finds the CUDA toolkit (compiler and headers; no driver is needed), or installs
# it from PyPI wheels into the user's cache. Sets and exports CUDA_PATH.

isToolkit() { [ -f "$1/include/cuda_runtime.h" ] && [ -e "$1/nvvm/libdevice/libdevice.10.bc" ]; }

wheels=(nvidia-cuda-{nvcc,runtime,cccl,crt,profiler-api}==13.0.* nvidia-nvvm==13.0.* nvidia-curand==10.4.0.*)

findToolkit() {
  local candidate nvcc
  nvcc=$(command -v nvcc || true)
  for candidate in "${CUDA_PATH:-}" "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}" \
                   "${nvcc:+$(dirname "$(dirname "$nvcc")")}" /usr/local/cuda; do
    if [ -n "$candidate" ] && isToolkit "$candidate"; then
      export CUDA_PATH=$candidate
      return 0
    fi
  done
  installToolkit
}

installToolkit() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/kb-opt/cuda-13.0
  if ! isToolkit "$cache/nvidia/cu13"; then
    echo "no CUDA toolkit in CUDA_PATH, PATH or /usr/local/cuda: installing its compiler and headers from PyPI into $cache"
    installPackages python3-pip
    local log; log=$(mktemp)
    rm -rf "$cache.part"
    /usr/bin/python3 -m pip install --quiet --no-deps --target "$cache.part" "${wheels[@]}" >"$log" 2>&1 || {
      cat "$log" >&2; rm -f "$log"
      echo "kb-opt: error: cannot install the CUDA compiler from PyPI" >&2
      echo "kb-opt: note: install a CUDA toolkit and set CUDA_PATH to its folder" >&2
      exit 3
    }
    rm -f "$log"; rm -rf "$cache"; mv "$cache.part" "$cache"
  fi
  export CUDA_PATH=$cache/nvidia/cu13 PATH=$cache/nvidia/cu13/bin:$PATH
}
