"""The REST side: FastAPI is imported nowhere else."""
