"""One file per part of the table; each has a `measure(postgres)` that gives its rows."""
