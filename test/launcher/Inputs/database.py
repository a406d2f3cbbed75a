"""Writes a compile database for the folder that is named: launchers, both halves of clang, several entries for one file."""

import json
import sys

folder = sys.argv[1]


def entry(command, file):
    return {"directory": folder, "command": command, "file": file}


database = [
    entry("wrap --level=3 ccache /opt/cuda/bin/nvcc -arch=sm_90 -c scale.cu -o a.o -MD -MF a.d", "scale.cu"),
    entry("kb-opt-cc nvcc -arch=sm_90 -c scale.cu -o b.o", "scale.cu"),
    entry("nvcc -arch=sm_90 -DTWICE -c scale.cu -o c.o", "scale.cu"),
    entry("clang++-22 -x cuda --cuda-gpu-arch=sm_90 --cuda-host-only -c other.cpp -o h.o", "other.cpp"),
    entry("clang++-22 -x cuda --cuda-gpu-arch=sm_90 --cuda-device-only -c other.cpp -o d.o", "other.cpp"),
    entry("g++ -c main.cpp -o main.o", "main.cpp"),
]
with open(f"{folder}/compile_commands.json", "w") as file:
    json.dump(database, file)
