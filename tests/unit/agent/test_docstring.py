import pytest

from playhead.agent.docstring import Docstring

GOOGLE = """Ping a host.

    Waits for the answer.

    Args:
        host (str): the host to ping,
            by name
        count: how often: at most 5

    Returns:
        What came back.
    """
NUMPY = """Ping a host.

    Waits for the answer.

    Parameters
    ----------
    host : str
        the host to ping,
        by name
    count : int, optional
        how often: at most 5

    Returns
    -------
    str
        What came back.
    """
SPHINX = """Ping a host.

    Waits for the answer.

    :param host: the host to ping,
        by name
    :type host: str
    :param int count: how often: at most 5
    :returns: What came back.
    """
PLAIN = """Ping a host.

    Waits for the answer.

    host: the host to ping, by name
    - `count` -- how often: at most 5

    note: this is not a parameter
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, PLAIN], ids=["google", "numpy", "sphinx", "plain"])
def test_what_is_said_of_parameters_is_read_in_every_style(text):
    read = Docstring(text, parameters=["host", "count"])
    assert read.parameters == {"host": "the host to ping, by name", "count": "how often: at most 5"}
    assert read.description.startswith("Ping a host.\n\nWaits for the answer.")
    assert "by name" not in read.description
    assert "What came back." in read.description or "note: this is not a parameter" in read.description


def test_two_names_may_share_what_numpy_style_says():
    read = Docstring("Add.\n\nParameters\n----------\na, b : int\n    a number\n", parameters=["a", "b"])
    assert read.parameters == {"a": "a number", "b": "a number"}


def test_names_that_are_no_parameters_are_not_told_of():
    read = Docstring("Add.\n\nArgs:\n    a: a number\n    context: where it runs\n", parameters=["a"])
    assert read.parameters == {"a": "a number"}
    assert read.description == "Add."


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_without_a_docstring_nothing_is_said(text):
    read = Docstring(text, parameters=["a"])
    assert read.description == "" and read.parameters == {}
