# As projects write it: the compiler makes the list of what an object depends on.
b/make.o: src/scale.cu
	$(NVCC) -arch=sm_90 --generate-dependencies-with-compile --dependency-output b/make.d -c $< -o $@
-include b/make.d
