"""What the data source refuses, each with one sentence that says what to do about it."""


class OptionError(ValueError):
    """An option is missing, unknown, wrong, or does not go with another one."""


class DataLossError(RuntimeError):
    """Records that a query has not read yet are gone, and `failOnDataLoss` is true."""


class ChangedBatchError(RuntimeError):
    """A batch that was written in part is repeated with other rows than before."""
