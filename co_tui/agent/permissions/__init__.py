"""Which calls run freely, which are asked about, and which are refused."""
