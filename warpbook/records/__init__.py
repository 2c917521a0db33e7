"""What devices printed, measured and counted, kept in records/; claims and values read it."""
