"""The schema of the body."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_AMOUNT = 2**53 - 1

Amount = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]


class Closed(BaseModel):
    """Pydantic's defaults would repair a wrong body: drop members, turn "2" into 2."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Customer(Closed):
    # It gets a column of its own, and text in PostgreSQL cannot hold U+0000.
    reference: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00]*$")]
    email: Annotated[str | None, Field(max_length=254, pattern=r"^[^@\s]+@[^@\s]+$")] = None


class Line(Closed):
    sku: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str | None, Field(max_length=500)] = None
    quantity: Annotated[int, Field(ge=1, le=1_000_000)]
    unit_amount: Amount

    @property
    def amount(self) -> int:
        return self.quantity * self.unit_amount


MetadataName = Annotated[str, Field(min_length=1, max_length=40)]
MetadataValue = Annotated[str, Field(max_length=500)]


class NewOrder(Closed):
    customer: Customer
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    lines: Annotated[list[Line], Field(min_length=1, max_length=500)]
    expected_amount: Amount | None = None
    metadata: Annotated[dict[MetadataName, MetadataValue] | None, Field(max_length=50)] = None
