"""A compiled loop that parses plain integers."""

from __future__ import annotations

import numpy as np

from isonn.compiled import compiled


@compiled()
def read_integers(text, rows):  # type: ignore[no-untyped-def]
    """Write the rows; return their number, or -1 if the text is not plain integers in rows of one length."""
    width, row, column = rows.shape[1], 0, 0
    number, digits, negative, ended, blank = np.int64(0), 0, False, False, True
    for i in range(len(text) + 1):
        sign = text[i] if i < len(text) else np.uint8(10)
        if 48 <= sign <= 57:
            if ended or digits == 18:
                return -1
            number = number * 10 + np.int64(sign - 48)
            digits, blank = digits + 1, False
        elif sign == 44 or sign == 10:
            if blank and sign == 10 and column == 0:
                continue
            if digits == 0 or column == width:
                return -1
            rows[row, column] = -number if negative else number
            column += 1
            number, digits, negative, ended, blank = np.int64(0), 0, False, False, False
            if sign == 10:
                if column != width:
                    return -1
                row, column, blank = row + 1, 0, True
        elif sign == 32 or sign == 9:
            if negative and digits == 0:
                return -1
            blank, ended = False, ended or digits > 0  # a line of spaces is left to NumPy, which refuses it
        elif sign == 45 and digits == 0 and not negative:
            negative, blank = True, False
        elif sign == 13 and (i + 1 == len(text) or text[i + 1] == 10):
            ended = ended or digits > 0
        else:
            return -1
    return row
