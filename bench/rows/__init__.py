"""One file per measurement. Each has a function `measure(postgres)` that returns its rows."""
