"""The errors of playhead: one tree, each with its kind, its facts as attributes, and what to do next.

    PlayheadError
    ├── InvalidInput                 invalid_input     a value that cannot be accepted as given
    │   ├── UnstorableValue                            a payload or meta value that JSON cannot hold
    │   ├── InvalidDate                                a date text that is no ISO date
    │   ├── TapeNotScoped                              a handle without a name was used like a tape
    │   ├── ReadOnly                                   a handle that only reads was asked to write
    │   ├── InvalidModelSpec                           a model is not named as PROVIDER:MODEL
    │   ├── InvalidOption                              an option is unknown, gone, or not built yet
    │   ├── NoCompressionModel                         a summary is due and nobody is named to write it
    │   ├── BodyNotWhole                               a part of a long message was to be changed alone
    │   ├── ManagerClosed                              a manager was used after its close
    │   ├── BadPlugin                                  a plug-in cannot be loaded, or gives what it may not
    │   └── InvalidTool                                a function that a model could not call
    ├── NotFound                     not_found         something named does not exist
    │   ├── NoAnchors                                  the tape has no anchor to read behind
    │   ├── AnchorNotFound                             no anchor of that name
    │   ├── TapeNotFound                               no tape of that name
    │   ├── BranchNotFound                             no branch of that name
    │   ├── MessageNotFound                            no message of that id
    │   ├── SummaryNotFound                            no summary of that id
    │   ├── BlobNotFound                               no bytes of that digest
    │   └── FileMissing                                no file at that path
    ├── Conflict                     conflict          the tape moved, or a key was used for something else
    │   ├── KeyConflict                                one idempotency key, two different bodies
    │   ├── NameTaken                                  a tape of that name is there
    │   │   └── TapeDiffers                            and it is not the one that was to be brought there
    │   ├── BranchClosed                               the branch was merged or discarded
    │   ├── LeaseHeld                                  somebody else has the tape leased
    │   └── LeaseLost                                  somebody else has leased the tape since
    ├── StoreError                   store             the store cannot do what was asked
    │   ├── StoreUnavailable                           it cannot be opened or reached
    │   ├── StoreBusy                                  another process holds its lock for too long
    │   ├── StoreDamaged                               its content is not what was written
    │   ├── StoreOutdated                              its schema is not one this version reads
    │   └── AppendOutcomeUnknown                       nobody can say whether the append was kept
    ├── SelectorError                selector          a selector failed or returned no messages
    ├── OverBudgetError              over_budget       what must be shown does not fit the budget
    ├── InvalidPlan                  invalid_plan      a strategy's plan loses, repeats or reorders something
    ├── WireError                    wire              a provider's body cannot be read or written
    │   └── NothingToSend                              a prompt holds nothing that the provider answers
    ├── UnreadableFile               unreadable        a file is not of the format it was taken for
    ├── ModelError                   model             a model did not answer as asked
    │   ├── ModelUnavailable                           it cannot be reached, or is busy: try again later
    │   ├── ContextLimitExceeded                       the request is longer than its context
    │   ├── ModelRejected                              the provider does not take the request
    │   ├── ModelRefused                               it will not answer
    │   ├── BadReply                                   what it answered cannot be read
    │   ├── OutputMismatch                             its answer has not the form that was asked for
    │   └── ProviderNotFoundError                      no provider of that name
    ├── LLMError                     an ErrorKind      a call of LLM failed; the exact error is its cause
    ├── ToolFailed                   tool              a tool raised, or took too long
    ├── StepLimitReached             step_limit        a run took as many steps as it may
    └── MissingExtra                 missing_extra     an optional package is not installed
"""

from playhead.errors.agent import BadPlugin, InvalidTool, StepLimitReached, ToolFailed
from playhead.errors.fold import BodyNotWhole, InvalidOption, ManagerClosed, MessageNotFound, NoCompressionModel, SummaryNotFound
from playhead.errors.llm import ErrorKind, LLMError
from playhead.errors.model import BadReply, ContextLimitExceeded, ModelError, ModelRefused, ModelRejected, ModelUnavailable, OutputMismatch, ProviderNotFoundError
from playhead.errors.store import (
    AnchorNotFound,
    AppendOutcomeUnknown,
    BlobNotFound,
    BranchClosed,
    BranchNotFound,
    Conflict,
    FileMissing,
    KeyConflict,
    LeaseHeld,
    LeaseLost,
    NameTaken,
    NoAnchors,
    NotFound,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreOutdated,
    StoreUnavailable,
    TapeDiffers,
    TapeNotFound,
)
from playhead.errors.tree import PlayheadError
from playhead.errors.value import (
    InvalidDate,
    InvalidInput,
    InvalidModelSpec,
    InvalidPlan,
    MissingExtra,
    NothingToSend,
    OverBudgetError,
    ReadOnly,
    SelectorError,
    TapeNotScoped,
    UnreadableFile,
    UnstorableValue,
    WireError,
)

__all__ = [
    "AnchorNotFound",
    "AppendOutcomeUnknown",
    "BadPlugin",
    "BadReply",
    "BlobNotFound",
    "BodyNotWhole",
    "BranchClosed",
    "BranchNotFound",
    "Conflict",
    "ContextLimitExceeded",
    "ErrorKind",
    "FileMissing",
    "InvalidDate",
    "InvalidInput",
    "InvalidModelSpec",
    "InvalidOption",
    "InvalidPlan",
    "InvalidTool",
    "KeyConflict",
    "LLMError",
    "LeaseHeld",
    "LeaseLost",
    "ManagerClosed",
    "MessageNotFound",
    "MissingExtra",
    "ModelError",
    "ModelRefused",
    "ModelRejected",
    "ModelUnavailable",
    "NameTaken",
    "NoAnchors",
    "NoCompressionModel",
    "NotFound",
    "NothingToSend",
    "OutputMismatch",
    "OverBudgetError",
    "PlayheadError",
    "ProviderNotFoundError",
    "ReadOnly",
    "SelectorError",
    "StepLimitReached",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "SummaryNotFound",
    "TapeDiffers",
    "TapeNotFound",
    "TapeNotScoped",
    "ToolFailed",
    "UnreadableFile",
    "UnstorableValue",
    "WireError",
]
