"""The studies: one module each, which computes its run records and answers its claims from them."""
