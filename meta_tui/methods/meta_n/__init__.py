"""Meta^n: one fixed operation that keeps writing the next layer around a solver.

`records` is what a run keeps, `layers` what a layer is and how it is read from a reply,
`screening` what of it is taken, `solving` runs a chain on a task, `traces` and `omega` make the
one prompt, `archive` says what is bred from, `method` puts them together.
"""
