// Baseline correction for spectrometer traces: low pass per trace, subtract, rescale and clip.
//
// kb-workload:
//   entry: correct_baseline
//   sizes: {traces: 1536, samples: 1600}
//   test-sizes: [{traces: 1, samples: 1}, {traces: 7, samples: 40}, {traces: 34, samples: 95}]
//   unseen-sizes: [{traces: 25, samples: 70}]
//   parameters:
//     - {name: signal, type: f32, shape: traces*samples, role: in, init: normal, values: [finite]}
//     - {name: baseline, type: f32, shape: traces*samples, role: out}
//     - {name: corrected, type: f32, shape: traces*samples, role: out}
//     - {name: samples, value: samples}
//     - {name: traces, value: traces}

__global__ void low_pass(const float *signal, float *baseline, float alpha, int samples, int traces)
{
    int tr = threadIdx.x + blockDim.x * blockIdx.x;
    if (traces <= tr)
        return;
    float state = 0.0f;
    for (int s = 0; s < samples; s++) {
        state = alpha * signal[samples * tr + s] + state * (1.0f - alpha);
        baseline[samples * tr + s] = state;
    }
}

__global__ void subtract(const float *signal, const float *baseline, float *corrected, int count, float gain)
{
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < count)
        corrected[i] = gain * (signal[i] - baseline[i]);
}

__global__ void clip(float *corrected, int count, float bound)
{
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < count)
        corrected[i] = fmaxf(fminf(corrected[i], bound), -bound);
}

void correct_baseline(const float *signal, float *baseline, float *corrected, int samples, int traces)
{
    int count = traces * samples;
    low_pass<<<(traces + 63) / 64, 64>>>(signal, baseline, 0.02f, samples, traces);
    subtract<<<(count + 255) / 256, 256>>>(signal, baseline, corrected, count, 3.0f);
    clip<<<(count + 255) / 256, 256>>>(corrected, count, 5.0f);
}
