"""MC2: a Reasoner that is watched by a Monitor, steered by a Controller, and taught by its past.

Source: arXiv 2604.17399. The inner loop (MRO) is `loop`; what is kept across problems (MCA) is
`reflection`, `memory` and `compose`; `method` joins them over a stream; `history` tells a screen
or a report what a batch changed. Equations and prompt templates of the paper are reconstructed;
every prompt is worded by this project.
"""
