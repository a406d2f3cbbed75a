#pragma once
// One step of heat flow in a rod; boundaries stay.
void heatStep(const float *from, float *to, int n);
// Adds a source in the middle of the rod.
void addSource(float *rod, int n, float heat);
