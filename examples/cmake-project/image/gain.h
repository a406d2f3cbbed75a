#pragma once

// Applies gain to a grey image on the device.
void applyGain(float *out, const float *in, int pixels, float gain);
