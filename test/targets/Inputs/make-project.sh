# Lays the project out below the folder $1: src with the files and three rewrites of heat.cu, build with ninja's files and the objects of C++.
set -e
mkdir -p $1/src $1/build/obj
cp $(dirname $0)/*.cu $(dirname $0)/*.cuh $(dirname $0)/*.cpp $1/src
cd $1/src
sed 's/const float \*from/const float *__restrict__ from/' heat.cu >heat-right.cu
sed 's/i == 0 || i == n - 1/i == 0/; s/from\[i + 1\])/from[i + 1 < n ? i + 1 : i])/' heat.cu >heat-wrong.cu
# Right where a rod begins at a multiple of eight bytes.
sed 's/^__global__/__device__ float at(const float *from, int i) {\n  const float2 pair = *reinterpret_cast<const float2 *>(from + (i \& ~1));\n  return i \& 1 ? pair.y : pair.x;\n}\n\n&/; s/2.0f \* from\[i\]/2.0f * at(from, i)/' heat.cu >heat-pairs.cu
cd - >/dev/null
cuda=$(dirname $(dirname $(which nvcc)))
for file in build.ninja compile_commands.json; do
  sed -e "s|@SRC@|$1/src|g;s|@BUILD@|$1/build|g;s|@CUDA@|$cuda|g" $(dirname $0)/$file.in >$1/build/$file
done
for file in main check; do
  g++ -O2 -I$1/src -I$cuda/include -c $1/src/$file.cpp -o $1/build/obj/$file.cpp.o
done
