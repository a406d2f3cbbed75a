#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: variants.sh KB-OPT FOLDER
# Rewrites kernels.cu with several schedules into FOLDER, where `nvcc -O3 -std=c++17 -arch=sm_90 driver.cu` then makes
# one program of them all.
set -e
kbopt=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2" && cd "$2"
cp "$here/driver.cu" .
: > variants.h
add() {
  sed -i '/^#include/d' "$1.cu"
  printf 'namespace %s {\n#include "%s.cu"\n}\n' "$1" "$1" >> variants.h
}
make() { # name passes
  "$kbopt" --quiet "-passes=$2" -o "$1.cu" "$here/kernels.cu"
  add "$1"
}
cp "$here/kernels.cu" given.cu && add given
transposes() { make "$1" "schedule{kernel=transposef as='$2'},schedule{kernel=transposeh as='$3'},schedule{kernel=permute as='$4'}"; }
transposes map_first "map vector=4 rows=8 block=256" "map vector=8 rows=8 block=256" "map"
transposes map_square "map vector=1 rows=32 block=1024" "map vector=1 rows=32 block=1024" "map vector=1"
for each in "32 1 256" "64 1 512" "64 2 256"; do
  set -- $each
  name="t$1v$2"
  transposes "$name" "transpose tile=$1 vector=$2 block=$3" "transpose tile=$1 vector=$2 block=$3" "transpose tile=$1 vector=$2 block=$3"
done
transposes t32v4 "transpose tile=32 vector=4 otherwise=1" "transpose tile=32 vector=4 otherwise=1" "transpose tile=32 vector=4"
transposes t64v4 "transpose tile=64 vector=4 otherwise=1" "transpose tile=64 vector=8 otherwise=1" "transpose tile=64 vector=4"
maps() { make "$1" "schedule{kernel=scale as='$2'},schedule{kernel=rowsum as='$3'}"; }
maps map1 "map vector=1" "map vector=1 inflight=1"
maps map4 "map vector=4" "map vector=4 inflight=4"
for each in columns rows map; do
  make "g_$each" "schedule{kernel=gram3 as=$each}"
done
scans() { make "$1" "schedule{kernel=sums as='$2'},schedule{kernel=isums as='$2'}"; }
scans s_row "scan launches=1 team=1024 vector=4"
scans s512x8 "scan launches=3 team=512 vector=8"
scans s1024x8 "scan launches=3 team=1024 vector=8"
cat >> variants.h <<'X'
#define TRANSPOSES EACH(given) EACH(map_first) EACH(map_square) EACH(t32v1) EACH(t64v1) EACH(t64v2) EACH(t32v4) EACH(t64v4)
#define MAPS EACH(given) EACH(map1) EACH(map4)
#define GRAMS EACH(given) EACH(g_rows) EACH(g_columns) EACH(g_map)
#define SCANS EACH(s_row) EACH(s512x8) EACH(s1024x8)
X
