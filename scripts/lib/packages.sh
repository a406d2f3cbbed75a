# SPDX-License-Identifier: Apache-2.0
#
# Debian packages that kb-opt is built and tested with.
llvmVersion=22
packages=(
  cmake ninja-build ccache python3 python3-psutil bubblewrap file patch strace
  clang-$llvmVersion clang-tidy-$llvmVersion clang-format-$llvmVersion lld-$llvmVersion llvm-$llvmVersion-dev llvm-$llvmVersion-tools
  libclang-$llvmVersion-dev libclang-rt-$llvmVersion-dev libmlir-$llvmVersion-dev mlir-$llvmVersion-tools
  libedit-dev libzstd-dev zlib1g-dev libcurl4-openssl-dev xz-utils
  libboost-context-dev libsqlite3-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev
)

# Installs those of the named packages that are missing; as root or through sudo.
installPackages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local asRoot=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
      echo "kb-opt: error: packages are missing, and there is neither root nor sudo to install them" >&2
      echo "kb-opt: note: apt-get install ${missing[*]}" >&2
      exit 3
    }
    asRoot=(sudo)
  fi
  echo "installing Debian packages: ${missing[*]}"
  local log; log=$(mktemp)
  { "${asRoot[@]}" apt-get update && "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; rm -f "$log"; echo "kb-opt: error: apt-get install ${missing[*]} failed" >&2; exit 3; }
  rm -f "$log"
}
