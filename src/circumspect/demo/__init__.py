"""What runs with no key and no data of one's own: the offline model, sample shops, demo data for the console."""
