"""The studies: one folder each, with what it computes, shows and claims. `plan` says what is in the folder."""
