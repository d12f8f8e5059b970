"""The studies. Each has a folder with what it computes, shows and claims; `plan` explains the files in it."""
