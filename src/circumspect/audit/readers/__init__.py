"""One module for each way in which tools write conversations down; `record_formats` lists them."""
