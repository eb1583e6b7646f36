"""One module for each way in which tools write conversations down; `registry` lists them."""
