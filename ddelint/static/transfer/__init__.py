"""What operators make of values, by tables: kernels answer and demand; they evaluate nothing and record nothing."""
