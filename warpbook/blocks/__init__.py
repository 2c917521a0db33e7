"""What a directive or a listing of a page becomes: outputs, tables, charts, line counters, formulas."""
