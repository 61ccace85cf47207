"""The offsets of a log without the log, for what only decides by them."""


class OffsetsOnly:
    """What a partition's leader reads of its log."""

    def __init__(self, log_end_offset: int = 0, high_watermark: int = 0, log_start_offset: int = 0) -> None:
        self.log_end_offset = log_end_offset
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset

    def update_high_watermark(self, high_watermark: int) -> None:
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
