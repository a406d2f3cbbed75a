constexpr float factor = 3;
